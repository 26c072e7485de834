import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { ReservationId } from "@berth/domain/billing/units/Reservation"
import { AnswerStreams } from "@berth/domain/interaction/answers/AnswerStreams"
import { ConversationRepository } from "@berth/domain/interaction/conversations/ConversationRepository"
import { TurnSettings, unusedTurn } from "@berth/domain/interaction/turns/TurnPricing"
import { TurnRepository } from "@berth/domain/interaction/turns/TurnRepository"
import { UsdMicros } from "@berth/domain/shared/Money"
import { Transaction } from "@berth/domain/persistence/Transaction"
import * as IdGeneratorTest from "@berth/infra/crypto/IdGeneratorTest"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Option, Ref, TestClock } from "effect"
import * as AbandonedTurnRecovery from "../../src/interaction/AbandonedTurnRecovery.ts"

const reserved = (id: string) => ({
  ...unusedTurn,
  reservation: Option.some(ReservationId.make(id)),
  ownKeysOnly: false,
  callBegun: false
})

describe("AbandonedTurnRecovery", () => {
  it.scoped(
    "AbandonedTurnRecovery settles abandoned turns that called a model and keeps their texts, and releases the others",
    () =>
      Effect.gen(function* () {
        const log = yield* Ref.make<ReadonlyArray<string>>([])
        const record = (what: string) => Ref.update(log, (before) => [...before, what])
        const abandoned = new Map([
          ["msg_1", reserved("rsv_1")],
          ["msg_2", { ...unusedTurn, reservation: Option.none(), ownKeysOnly: false, callBegun: false }],
          ["msg_3", { ...reserved("rsv_3"), callBegun: true, platformCalls: 1, costMicros: UsdMicros(20_000) }]
        ])
        const ports = Layer.mergeAll(
          Layer.mock(TurnRepository, {
            listAbandoned: (now) =>
              Effect.as(record(`list at ${DateTime.toEpochMillis(now)}`), [...abandoned.keys(), "msg_renewed"]),
            end: (id) =>
              Effect.sync(() => {
                const found = Option.fromNullable(abandoned.get(id))
                abandoned.delete(id)
                return found
              })
          }),
          Layer.mock(ConversationRepository, {
            markFailed: (id, failure, partial) =>
              Effect.as(
                record(
                  `fail ${id}${failure?.callBegun === true ? "" : " without a call"}${partial === undefined ? "" : ` after "${partial.content}"`}`
                ),
                true
              )
          }),
          Layer.mock(UnitLedger, {
            _tag: "@berth/UnitLedger",
            settle: (id, units) => record(`settle ${id} ${units}`),
            release: (id) => record(`release ${id}`),
            closeAbandoned: (now) => Effect.as(record(`abandoned at ${DateTime.toEpochMillis(now)}`), 0)
          }),
          Layer.mock(AnswerStreams, {
            append: () => undefined,
            read: (id) =>
              Effect.succeed({
                deltas:
                  id === "msg_3"
                    ? [
                        { type: "delta", n: 1, text: "Half " },
                        { type: "delta", n: 2, text: "an " }
                      ]
                    : [],
                state: { state: "pending" }
              })
          }),
          IdGeneratorTest.layer,
          Layer.succeed(TurnSettings, { priceMargin: 1.3, budgetUsd: 0.25 }),
          Layer.succeed(Transaction, {
            run: (effect) => Effect.zipLeft(Effect.zipRight(record("begin"), effect), record("commit"))
          })
        )
        yield* Layer.build(Layer.provide(AbandonedTurnRecovery.layer, ports))
        yield* TestClock.adjust("9 seconds")
        assert.deepStrictEqual((yield* log).join("; ").split("; begin; "), [
          "list at 0",
          "release rsv_1; fail msg_1 without a call; commit",
          "fail msg_2 without a call; commit",
          'settle rsv_3 3; fail msg_3 after "Half an "; commit',
          "commit; abandoned at 0; list at 5000",
          "commit; abandoned at 5000"
        ])
      })
  )
})
