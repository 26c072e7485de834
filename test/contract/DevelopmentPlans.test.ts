import { Allowances } from "@berth/domain/billing/subscriptions/Allowances"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as App from "../support/TestApp.ts"
import { withoutTraceId } from "./ErrorAssertions.ts"
import { createOwnerWithAgent } from "./OwnerFixtures.ts"

const path = "/api/development/plan"

const provision = (as: App.SignedIn) =>
  App.web({ method: "POST", path: "/api/agents/provision", as, json: { name: "Ada" } })

layer(App.shared, { excludeTestServices: true })("POST /api/development/plan in development", (it) => {
  it.effect("POST /api/development/plan gives a plan without payment, with which the user can create an agent", () =>
    Effect.gen(function* () {
      const newcomer = yield* App.signInNewUser()
      assert.strictEqual((yield* provision(newcomer)).status, 402)
      const taken = yield* App.web({ method: "POST", path, as: newcomer, json: { plan: "solo" } })
      assert.deepStrictEqual([taken.status, taken.body], [200, { plan: "solo" }])
      assert.strictEqual((yield* provision(newcomer)).status, 201)
      const settings = yield* App.web({ method: "GET", path: "/api/settings", as: newcomer })
      assert.strictEqual(settings.body["plan"], "solo")
    })
  )

  it.effect("POST /api/development/plan applies the limits of a smaller plan to running agents", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent("collective")
      const { agents } = yield* (yield* Allowances).find(owner.user)
      assert.strictEqual(agents, 3)
      assert.strictEqual((yield* provision(owner)).status, 201)
      yield* App.web({ method: "POST", path, as: owner, json: { plan: "solo" } })
      const { body } = yield* App.web({ method: "GET", path: "/api/agents", as: owner })
      assert.match(JSON.stringify(body["agents"]), /"status":"stopped"/)
      assert.strictEqual((yield* provision(owner)).status, 429)
    })
  )

  it.effect("POST /api/development/plan redirects a form to the onboarding, and to the sign-in without a session", () =>
    Effect.gen(function* () {
      const headers = { accept: "text/html", "content-type": "application/x-www-form-urlencoded" }
      const form = { method: "POST", path, headers, body: "plan=starter" }
      const taken = yield* App.web({ ...form, as: yield* App.signInNewUser() })
      assert.deepStrictEqual([taken.status, taken.headers.location], [303, "/onboarding"])
      const stranger = yield* App.web(form)
      assert.deepStrictEqual(
        [stranger.status, stranger.headers.location],
        [303, "/login?error=unauthorized&callbackUrl=%2Fdashboard"]
      )
    })
  )
})

layer(App.layer({ isDevelopment: false }), { excludeTestServices: true })(
  "POST /api/development/plan where plans need payment",
  (it) => {
    it.effect("POST /api/development/plan is answered exactly as an unknown route, and is not documented", () =>
      Effect.gen(function* () {
        const as = yield* App.signInNewUser()
        const form = { "content-type": "application/x-www-form-urlencoded", accept: "text/html" }
        const seen = (call: App.AppCall) =>
          Effect.map(App.web(call), (answer) => {
            const { date: _date, "x-request-id": _id, ...headers } = answer.headers
            return [answer.status, headers, withoutTraceId(answer)]
          })
        const calls = [
          { method: "POST", as, json: { plan: "solo" } },
          { method: "POST", json: { plan: "solo" } },
          { method: "POST", as, headers: { origin: "https://evil.example" }, json: {} },
          { method: "POST", as, headers: form, body: "plan=solo" },
          { method: "GET", as },
          { method: "OPTIONS" }
        ]
        for (const call of calls) {
          const [known, unknown] = [
            yield* seen({ ...call, path }),
            yield* seen({ ...call, path: "/api/development/other" })
          ]
          assert.deepStrictEqual(known, unknown)
          assert.strictEqual(known[0], 404)
        }
        assert.strictEqual((yield* provision(as)).status, 402)
        assert.notInclude((yield* App.web({ method: "GET", path: "/openapi.json" })).text, path)
      })
    )
  }
)
