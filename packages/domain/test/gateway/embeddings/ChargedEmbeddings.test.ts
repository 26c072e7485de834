import { OwnerKeys } from "@berth/domain/ai/keys/OwnerKeys"
import { ReservationId } from "@berth/domain/billing/units/Reservation"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { ChargedEmbeddings } from "@berth/domain/gateway/embeddings/ChargedEmbeddings"
import { GatewaySettings } from "@berth/domain/gateway/GatewaySettings"
import { ModelAnswers } from "@berth/domain/gateway/plugins/ModelAnswers"
import { IdempotentExecution } from "@berth/domain/limits/IdempotentExecution"
import { assert, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber, Layer, Option } from "effect"
import { sampleUser } from "../../SampleUser.ts"

/** The ledger's calls for a client that disconnects while the units are reserved, or while the provider answers. */
const leaveWhile = (moment: "reserving" | "calling") =>
  Effect.gen(function* () {
    const calls: Array<string> = []
    const record = (call: string) => Effect.sync(() => void calls.push(call))
    const [reached, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
    const pauseAt = (at: typeof moment) =>
      at === moment ? Effect.zipRight(Deferred.succeed(reached, undefined), Deferred.await(go)) : Effect.void
    const ports = Layer.mergeAll(
      OwnerKeys.none,
      Layer.mock(IdempotentExecution, { reference: Effect.succeed("request") }),
      Layer.mock(ModelAnswers, {
        models: Effect.succeed([]),
        embed: () => Effect.zipRight(Effect.zipRight(record("call"), pauseAt("calling")), Effect.never)
      }),
      Layer.succeed(GatewaySettings, {
        prices: { agent: 0, "generate-text": 0, tts: 0, stt: 0 },
        priceMargin: 1,
        payments: Option.none(),
        speech: {
          tts: { provider: "openai", name: "tts-1" },
          stt: { provider: "openai", name: "whisper-1" },
          attemptTimeout: Duration.seconds(30),
          retryTimeout: Duration.seconds(30)
        }
      }),
      Layer.mock(UnitLedger, {
        _tag: "@berth/UnitLedger",
        reserve: () => Effect.as(pauseAt("reserving"), Option.some(ReservationId.make("rsv_1"))),
        close: (_id, units) => record(`close ${units}`)
      })
    )
    const embeddings = yield* Effect.provide(ChargedEmbeddings, Layer.provide(ChargedEmbeddings.Default, ports))
    const call = yield* Effect.fork(embeddings.embed(sampleUser, { model: "text-embedding-3-small", input: ["hello"] }))
    yield* Deferred.await(reached)
    const left = yield* Effect.fork(Fiber.interrupt(call))
    yield* Effect.yieldNow()
    yield* Deferred.succeed(go, undefined)
    yield* Fiber.join(left)
    return calls
  })

it.effect("ChargedEmbeddings charges nothing when the client leaves before the provider is called", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* leaveWhile("reserving"), ["close 0"])
  })
)

it.effect("ChargedEmbeddings charges the estimate when the client leaves during the call", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* leaveWhile("calling"), ["call", "close 1"])
  })
)
