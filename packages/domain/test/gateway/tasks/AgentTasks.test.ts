import { Agents } from "@berth/domain/agents/Agents"
import { AgentTasks } from "@berth/domain/gateway/tasks/AgentTasks"
import * as AgentTasksLive from "@berth/domain/gateway/tasks/AgentTaskRunner"
import { ModelAnswers } from "@berth/domain/gateway/plugins/ModelAnswers"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { Memories } from "@berth/domain/interaction/memory/Memories"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { OwnKeyCoverage } from "@berth/domain/interaction/turns/OwnKeyCoverage"
import { TaskTurns } from "@berth/domain/interaction/turns/TaskTurns"
import { TurnSettings } from "@berth/domain/interaction/turns/TurnPricing"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option, Ref, Stream, TestClock } from "effect"

it.effect("AgentTasks.run fails a task after five minutes and ends its model call", () =>
  Effect.gen(function* () {
    const open = yield* Ref.make(0)
    const held = Stream.unwrapScoped(
      Effect.as(
        Effect.acquireRelease(
          Ref.update(open, (count) => count + 1),
          () => Ref.update(open, (count) => count - 1)
        ),
        Stream.never
      )
    )
    const opening = { id: "cpl_1", model: "m", provider: "openai", ownKey: false, attempts: [], overheadMs: 0 } as const
    const live = AgentTasksLive.layer.pipe(
      Layer.provide(
        Layer.succeed(ModelAnswers, {
          quote: () =>
            Effect.succeed({
              costUsd: 0,
              inputCost: 0,
              outputCost: 0,
              promptTokens: 1,
              maxTokens: 1,
              ownKey: false
            }),
          open: () => Effect.succeed({ opening, events: held })
        })
      ),
      Layer.provide([
        Layer.mock(Agents, { _tag: "@berth/Agents" }),
        Layer.mock(Memories, { _tag: "@berth/Memories" }),
        Layer.mock(AgentManager, { chat: () => Stream.empty, deploy: () => Effect.void }),
        Layer.mock(TaskTurns, { _tag: "@berth/TaskTurns" }),
        Layer.mock(OwnKeyCoverage, {}),
        Layer.mock(UnitLedger, { _tag: "@berth/UnitLedger" }),
        Layer.succeed(TurnSettings, { priceMargin: 1.3, budgetUsd: 0.25 }),
        Layer.mock(IdGenerator, {})
      ])
    )
    const { run } = yield* Effect.provide(AgentTasks, live)
    const task = run({ caller: Option.none(), messages: [{ role: "user", content: "hello" }] })
    // As a request is read: by somebody whom nobody interrupts.
    const reading = yield* Effect.forkDaemon(Effect.uninterruptible(Effect.flip(Stream.runDrain(task))))
    yield* Effect.repeat(Effect.zipRight(Effect.yieldNow(), Ref.get(open)), { until: (count) => count === 1 })
    yield* TestClock.adjust("299 seconds")
    assert.strictEqual(yield* Ref.get(open), 1)
    yield* TestClock.adjust("1 second")
    assert.containSubset(yield* Fiber.join(reading), {
      _tag: "PluginFailed",
      reason: "The task was not done within 5m."
    })
    assert.strictEqual(yield* Ref.get(open), 0)
  })
)
