import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { ReservationId } from "@berth/domain/billing/units/Reservation"
import { MessageId } from "@berth/domain/interaction/Conversation"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Option, Ref, TestClock } from "effect"
import * as AbandonedTurnRecovery from "../../src/interaction/AbandonedTurnRecovery.ts"

describe("AbandonedTurns", () => {
  it.scoped("gives up abandoned messages and what they reserved in one transaction, every five seconds", () =>
    Effect.gen(function* () {
      const log = yield* Ref.make<ReadonlyArray<string>>([])
      const say = (what: string) => Ref.update(log, (so) => [...so, what])
      const abandoned = yield* Ref.make([
        { id: MessageId.make("msg_1"), reservation: Option.some(ReservationId.make("rsv_1")) },
        { id: MessageId.make("msg_2"), reservation: Option.none<ReservationId>() },
        { id: MessageId.make("msg_3"), reservation: Option.some(ReservationId.make("rsv_3")) }
      ])
      const ports = Layer.mergeAll(
        Layer.mock(ConversationRepository, {
          failAbandoned: (now) =>
            Effect.zipRight(say(`fail at ${DateTime.toEpochMillis(now)}`), Ref.getAndSet(abandoned, []))
        }),
        Layer.mock(UnitLedger, {
          _tag: "@berth/UnitLedger",
          release: (id) => say(`release ${id}`),
          releaseAbandoned: (now) => Effect.as(say(`abandoned at ${DateTime.toEpochMillis(now)}`), 0)
        }),
        Layer.succeed(Transaction, {
          run: (effect) => Effect.zipLeft(Effect.zipRight(say("begin"), effect), say("commit"))
        })
      )
      yield* Layer.build(Layer.provide(AbandonedTurnRecovery.layer, ports))
      yield* TestClock.adjust("9 seconds")
      assert.deepStrictEqual(yield* log, [
        "begin",
        "fail at 0",
        "release rsv_1",
        "release rsv_3",
        "commit",
        "abandoned at 0",
        "begin",
        "fail at 5000",
        "commit",
        "abandoned at 5000"
      ])
    })
  )
})
