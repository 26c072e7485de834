import { PurchaseDeclined } from "@berth/domain/billing/checkout/CardProcessor"
import * as CardProcessorTest from "@berth/infra/stripe/CardProcessorTest"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as App from "../support/TestApp.ts"

const declined = new PurchaseDeclined({ reason: "Your card was declined.", declineCode: "insufficient_funds" })

layer(App.layer({ overrides: CardProcessorTest.layer }), { excludeTestServices: true })("POST /api/billing", (it) => {
  it.effect("POST /api/billing responds 402 with the decline code when the saved card is declined", () =>
    Effect.gen(function* () {
      const { calls, pay, withBehavior } = yield* CardProcessorTest.CardProcessorTest
      const as = yield* App.signInNewUser()
      const { body } = yield* App.web({ method: "POST", path: "/api/auth/token", as })
      const buy = App.web({
        method: "POST",
        path: "/api/billing",
        headers: { authorization: `Bearer ${String(body["token"])}` },
        json: { action: "buy-credits", pack: "50" }
      })
      const checkout = yield* buy
      yield* pay(new URL(String(checkout.body["checkoutUrl"])))
      const response = yield* buy.pipe(withBehavior({ chargeSavedCard: () => declined }))
      assert.strictEqual(response.status, 402)
      assert.strictEqual(response.body["declineCode"], "insufficient_funds")
      assert.include(
        (yield* calls).map(({ method }) => method),
        "chargeSavedCard"
      )
    })
  )
})
