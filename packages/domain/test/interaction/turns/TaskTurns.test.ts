import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { TaskTurns } from "@berth/domain/interaction/turns/TaskTurns"
import { TurnRepository } from "@berth/domain/interaction/turns/TurnRepository"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Effect, Layer, Option, TestClock } from "effect"

const turn = { userId: UserId.make("usr_ada"), agentId: AgentId.make("agt_mate"), turnId: "tsk_1" }
const payment = { reservation: Option.none(), ownKeysOnly: false }

describe("TaskTurns", () => {
  it.scoped("TaskTurns.begin takes a short lease and renews it until the scope closes", () => {
    const leases: Array<number> = []
    const record = (until: DateTime.Utc) => Effect.sync(() => leases.push(DateTime.toEpochMillis(until)))
    const repository = Layer.mock(TurnRepository, {
      begin: (_turn, _payment, until) => record(until),
      renewLeases: (_turnIds, until) => record(until),
      find: () => Effect.succeedNone,
      end: () => Effect.succeedNone
    })
    return Effect.gen(function* () {
      const turns = yield* TaskTurns
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* turns.begin(turn, { payment, report: () => Effect.void })
          yield* TestClock.adjust("20 seconds")
        })
      )
      assert.strictEqual(leases[0], 15_000)
      assert.strictEqual(leases.at(-1), 35_000)
      const count = leases.length
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(leases.length, count)
    }).pipe(Effect.provide(Layer.provide(TaskTurns.Default, repository)))
  })
})
