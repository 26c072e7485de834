import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { assert, layer } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { gatewayCall } from "../contract/GatewayPayments.ts"
import { parseEvents } from "../contract/ServerSentEvents.ts"
import * as App from "../support/TestApp.ts"

const delta = (text: string) => ({ type: "delta" as const, text })
const failure = new ProviderFailed({ provider: "openai", kind: "unreachable", reason: "connection reset" })

layer(App.shared, { excludeTestServices: true })("A streamed gateway call", (it) => {
  it.effect("A streamed gateway call ends with an error event when the model fails after three deltas", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* ModelProvidersTest
      const as = yield* App.signInNewUser("pro")
      const response = yield* gatewayCall({ as, headers: { accept: "text/event-stream" } }).pipe(
        withBehavior({
          chat: () => Stream.concat(Stream.make(delta("One "), delta("two "), delta("three")), Stream.fail(failure))
        })
      )
      assert.deepStrictEqual(
        parseEvents(response).map(({ event }) => event),
        ["delta", "delta", "delta", "error"]
      )
    })
  )
})
