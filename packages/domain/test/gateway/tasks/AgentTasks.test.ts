import { readerFromStream } from "@berth/domain/ai/streams/ChunkReader"
import { Agents } from "@berth/domain/agents/Agents"
import { AgentTasks } from "@berth/domain/gateway/tasks/AgentTasks"
import * as AgentTasksLive from "@berth/domain/gateway/tasks/AgentTaskRunner"
import { ModelAnswers } from "@berth/domain/gateway/plugins/ModelAnswers"
import { type ModelKeys, OwnerKeys } from "@berth/domain/ai/keys/OwnerKeys"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { Memories } from "@berth/domain/interaction/memory/Memories"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { OwnerModels } from "@berth/domain/ai/models/OwnerModels"
import { TaskTurns } from "@berth/domain/interaction/turns/TaskTurns"
import { TurnSettings } from "@berth/domain/interaction/turns/TurnPricing"
import { assert, it } from "@effect/vitest"
import { makeSingleChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { Effect, Fiber, Layer, Option, Redacted, Ref, Stream, TestClock } from "effect"
import { sampleUser } from "../../SampleUser.ts"

const quote = {
  costUsd: 0,
  inputCost: 0,
  outputCost: 0,
  promptTokens: 1,
  maxTokens: 1,
  ownKey: false,
  answeredBy: { model: "m", provider: "openai" },
  isSubstitute: false,
  seesImages: false
}

const makeTasks = (answers: Partial<ModelAnswers["Type"]>, keys: ModelKeys = {}) =>
  Effect.provide(
    AgentTasks,
    AgentTasksLive.layer.pipe(
      Layer.provide([
        Layer.mock(ModelAnswers, answers),
        Layer.succeed(OwnerKeys, { find: () => Effect.succeed(keys) }),
        Layer.mock(Agents, { _tag: "@berth/Agents", findDefaultRunning: () => Effect.succeedNone }),
        Layer.mock(Memories, { _tag: "@berth/Memories" }),
        Layer.mock(AgentManager, { chat: () => Effect.succeed(makeSingleChunkSource([])), deploy: () => Effect.void }),
        Layer.mock(TaskTurns, { _tag: "@berth/TaskTurns" }),
        Layer.mock(OwnerModels, {}),
        Layer.mock(UnitLedger, { _tag: "@berth/UnitLedger" }),
        Layer.succeed(TurnSettings, { priceMargin: 1.3, budgetUsd: 0.25 }),
        Layer.mock(IdGenerator, {})
      ])
    )
  )

it.effect("AgentTasks.usesOwnKeys calls the AI layer only for callers with keys", () =>
  Effect.gen(function* () {
    const requests: Array<unknown> = []
    const answers = {
      quote: (request: unknown) =>
        Effect.sync(() => {
          requests.push(request)
          return { ...quote, ownKey: true }
        })
    }
    const caller = Option.some(sampleUser)
    const keyless = yield* makeTasks(answers)
    assert.isFalse(yield* keyless.usesOwnKeys({ caller }))
    assert.lengthOf(requests, 0)
    const keyed = yield* makeTasks(answers, { openai: Redacted.make("sk-own") })
    assert.isTrue(yield* keyed.usesOwnKeys({ caller }))
    assert.lengthOf(requests, 1)
  })
)

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
    const answers = {
      quote: () => Effect.succeed(quote),
      open: () => Effect.map(readerFromStream(held), (events) => ({ opening, events }))
    }
    const { run } = yield* makeTasks(answers)
    const task = run({ caller: Option.none(), messages: [{ role: "user", content: "hello" }] })
    // Uninterruptible, as in a request handler.
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
