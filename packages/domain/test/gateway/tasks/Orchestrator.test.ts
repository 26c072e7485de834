import type { ChatRequest } from "@berth/domain/ai/calls/ChatRequest"
import { readerFromStream } from "@berth/domain/ai/streams/ChunkReader"
import type { ModelDelta, ModelEvent } from "@berth/domain/ai/streams/ModelEvent"
import { estimateMessagesTokens, estimateSerializedToolTokens } from "@berth/domain/ai/prompt/PromptBudget"
import { ReservationId } from "@berth/domain/billing/units/Reservation"
import { UnitLedger } from "@berth/domain/billing/units/UnitLedger"
import { TurnSettings } from "@berth/domain/interaction/turns/TurnPricing"
import { ModelAnswers } from "@berth/domain/gateway/plugins/ModelAnswers"
import { Orchestrator, orchestratorLimits } from "@berth/domain/gateway/tasks/Orchestrator"
import { PluginFailed, type PluginResult } from "@berth/domain/gateway/plugins/PluginRun"
import type { TaskText } from "@berth/domain/gateway/tasks/TaskText"
import { assert, it } from "@effect/vitest"
import { Chunk, Effect, FastCheck, Fiber, Layer, Logger, Option, Ref, Stream, TestClock } from "effect"
import { Units } from "@berth/domain/shared/Money"
import { recordSpans } from "../../../../../test/support/RecordedTelemetry.ts"
import type { UserId } from "@berth/domain/shared/UserId"

const task: TaskText = { context: "", history: [], task: "hello" }

const delta = (text: string): ModelEvent => ({ type: "delta", text })
const call = (name: string, args: unknown, id = name): ModelEvent => ({
  type: "tool-call",
  call: { id, name, arguments: JSON.stringify(args) }
})
const opening = { id: "cpl_1", model: "m", provider: "openai", ownKey: false, attempts: [], overheadMs: 0 } as const
const done = (changes: { readonly costUsd?: number } = {}): ModelEvent => ({
  type: "done",
  usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 },
  usageIsEstimated: false,
  costUsd: 0,
  finishReason: "stop",
  ...changes
})

type Script = (request: ChatRequest, at: number) => Stream.Stream<ModelEvent, PluginFailed>

const quote = {
  costUsd: 0.01,
  inputCost: 1,
  outputCost: 4,
  promptTokens: 100,
  maxTokens: 2_000,
  ownKey: false,
  answeredBy: { model: "m", provider: "openai" },
  isSubstitute: false,
  seesImages: false
}

interface RunOptions {
  readonly quoted?: Partial<typeof quote>
  /** Units up to which a reservation can be extended. */
  readonly balance?: number
  readonly unitLimit?: Units
  /** Whether own keys answer, by model call. Default: platform keys. */
  readonly ownKeys?: (at: number) => boolean
}

const run = (
  script: Script,
  about: TaskText = task,
  userId: UserId | null = null,
  { balance, ownKeys = () => false, quoted, unitLimit }: RunOptions = {}
) =>
  Effect.gen(function* () {
    const requests: Array<ChatRequest> = []
    const wanted: Array<number> = []
    const models = ModelAnswers.of({
      models: Effect.succeed([]),
      providers: Effect.succeed([]),
      embed: () => Effect.die("no embeddings"),
      quote: () => Effect.succeed({ ...quote, ...quoted }),
      open: (request) =>
        Effect.suspend(() => {
          const at = requests.push(request) - 1
          return Effect.map(readerFromStream(script(request, at)), (events) => ({
            opening: { ...opening, ownKey: ownKeys(at) },
            events
          }))
        })
    })
    const orchestrator = yield* Effect.provide(
      Orchestrator,
      Orchestrator.Default.pipe(
        Layer.provide(Layer.succeed(ModelAnswers, models)),
        Layer.provide(Layer.succeed(TurnSettings, { priceMargin: 1.3, budgetUsd: 0.25 })),
        Layer.provide(
          Layer.mock(UnitLedger, {
            _tag: "@berth/UnitLedger",
            extend: (_, units) =>
              Effect.sync(() => {
                wanted.push(units)
                return Units(Math.min(units, balance ?? units))
              })
          })
        )
      )
    )
    const spentUsd = yield* Ref.make(0)
    const reservation = balance === undefined ? Option.none() : Option.some(ReservationId.make("rsv_1"))
    const funding = { reservation, ownKeysOnly: false, spentUsd, unitLimit }
    const events: Array<ModelDelta | PluginResult | string> = Chunk.toArray(
      yield* orchestrator.run(about, userId, funding).pipe(
        Stream.catchAll(({ message }) => Stream.make(message)),
        Stream.runCollect
      )
    )
    return { events, requests, wanted, end: events.at(-1), spentUsd: yield* Ref.get(spentUsd) }
  }).pipe(Effect.provide(Logger.remove(Logger.defaultLogger)))

const says = (...events: ReadonlyArray<ModelEvent>): Stream.Stream<ModelEvent> => Stream.fromIterable(events)
const toolNames = (request: ChatRequest | undefined) => (request?.options?.tools ?? []).map(({ name }) => name)

it.effect("Orchestrator.run streams the text of every round and ends with all of it", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(Date.UTC(2026, 0, 15, 12, 30))
    const { events, requests } = yield* run((_, at) =>
      at === 0
        ? says(delta("Let me see."), call("calculate", { expression: "6*7" }), call("current_time", {}), done())
        : says(delta("It is "), delta("42."), done())
    )
    assert.deepStrictEqual(events, [
      { type: "delta", text: "Let me see." },
      { type: "delta", text: "\n\n" },
      { type: "delta", text: "It is " },
      { type: "delta", text: "42." },
      {
        type: "done",
        message: "Let me see.\n\nIt is 42.",
        tokens: null,
        costUsd: 0,
        ownKey: false,
        answeredBy: { model: "m", provider: "openai" }
      }
    ])
    const [first, second] = requests
    assert.deepStrictEqual(toolNames(first), ["current_time", "calculate"])
    assert.deepStrictEqual(first?.caller, { userId: null, agentId: null })
    const [calculated, time] = second?.messages.slice(-2).map(({ content }) => content) ?? []
    assert.strictEqual(calculated, "42")
    assert.include(time, "2026-01-15T12:30:00+00:00")
  })
)

it.effect("The span of Orchestrator.run names the agent, the model and its provider", () => {
  const { layer, spans } = recordSpans()
  const answeredBy = { model: "google/gemini-test", provider: "google" }
  return Effect.gen(function* () {
    yield* run(() => says(delta("Hello."), done()), task, null, { quoted: { answeredBy } })
    const span = spans.find((attributes) => attributes.get("name") === "Orchestrator.run")
    assert.deepInclude(Object.fromEntries(span ?? []), {
      "gen_ai.operation.name": "invoke_agent",
      "gen_ai.agent.name": "Orchestrator",
      "gen_ai.provider.name": "gcp.gemini",
      "gen_ai.request.model": "gemini-test"
    })
  }).pipe(Effect.provide(layer))
})

it.effect("Orchestrator.run gives the model the system messages and the history of the task", () =>
  Effect.gen(function* () {
    const { requests } = yield* run(() => says(delta("ok"), done()), {
      context: "Be brief.",
      history: [
        { role: "user", content: "hi" },
        { role: "assistant", content: "hello" }
      ],
      task: "go on"
    })
    const [system, ...rest] = requests[0]?.messages ?? []
    assert.strictEqual(system?.role, "system")
    assert.include(system?.content, "Be brief.")
    assert.deepStrictEqual(
      rest.map(({ content }) => content),
      ["hi", "hello", "go on"]
    )
  })
)

it.effect("Orchestrator.run gives a tool's failure to the model", () =>
  Effect.gen(function* () {
    const { end, requests } = yield* run((_, at) =>
      at === 0
        ? says(call("calculate", { expression: "1/0" }, "a"), call("fly", {}, "b"), call("calculate", {}, "c"), done())
        : says(delta("I cannot."), done())
    )
    assert.deepStrictEqual(
      requests[1]?.messages.slice(-3).map(({ content }) => content),
      [
        "Nothing can be divided by zero.",
        "There is no tool of that name. Your tools are: current_time, calculate.",
        "The arguments are wrong: expression is missing."
      ]
    )
    assert.containSubset(end, { type: "done", message: "I cannot." })
  })
)

const again: Script = (_, at) => says(delta(`${at}`), call("current_time", {}), done())

it.effect("Orchestrator.run makes a model that always calls tools answer after eight rounds", () =>
  Effect.gen(function* () {
    const { end, requests } = yield* run(again)
    assert.strictEqual(requests.length, 9)
    assert.deepStrictEqual(
      requests.map((request) => toolNames(request).length),
      [2, 2, 2, 2, 2, 2, 2, 2, 0]
    )
    assert.include(requests.at(-1)?.messages.at(-1)?.content, "Answer now")
    assert.containSubset(end, { type: "done", message: [0, 1, 2, 3, 4, 5, 6, 7, 8].join("\n\n") })
  })
)

it.effect(
  "The orchestrator offers no platform tools after its time or budget is spent, and continues with the caller's tools",
  () =>
    Effect.gen(function* () {
      const slow = yield* Effect.fork(
        run((...requested) => Stream.concat(Stream.execute(Effect.sleep("25 seconds")), again(...requested)))
      )
      for (let round = 0; round < 4; round++) yield* TestClock.adjust("25 seconds")
      assert.deepStrictEqual(
        (yield* Fiber.join(slow)).requests.map((request) => toolNames(request).length),
        [2, 2, 2, 0]
      )

      const dear = (ownKey: boolean) =>
        run((_, at) => says(delta(`${at}`), call("current_time", {}), done({ costUsd: 0.011 })), task, null, {
          ownKeys: () => ownKey
        })
      assert.strictEqual((yield* dear(false)).requests.length, 3)
      const own = yield* dear(true)
      assert.strictEqual(own.requests.length, 9)
      assert.containSubset(own.end, { ownKey: true })
    })
)

it.effect("Orchestrator.run reports own keys only when every model call used them", () =>
  Effect.gen(function* () {
    const mixed = (...keys: ReadonlyArray<boolean>) =>
      Effect.map(
        run(
          (_, at) => says(delta("."), ...(at < keys.length - 1 ? [call("current_time", {})] : []), done()),
          task,
          null,
          { ownKeys: (at) => keys[at] ?? false }
        ),
        ({ end }) => (typeof end === "object" && end.type === "done" ? end.ownKey : end)
      )
    assert.isTrue(yield* mixed(true))
    assert.isTrue(yield* mixed(true, true))
    assert.isFalse(yield* mixed(false, true))
    assert.isFalse(yield* mixed(true, false))
  })
)

it.effect("Orchestrator.run extends the reservation before each model call and reports the cost of all of them", () =>
  Effect.gen(function* () {
    const { end, spentUsd, wanted } = yield* run(
      (_, at) => says(delta("."), ...(at === 0 ? [call("current_time", {})] : []), done({ costUsd: 0.015 })),
      task,
      null,
      { balance: 25 }
    )
    // (100 x 1 + 2,000 x 4) micros with margin, then 15,000 micros more.
    assert.deepStrictEqual(wanted, [2, 4])
    assert.strictEqual(spentUsd, 0.03)
    assert.containSubset(end, { type: "done", message: ".\n\n.", costUsd: 0.03 })
  })
)

it.effect("Orchestrator.run limits an answer to what the reservation covers, and ends with the text so far", () =>
  Effect.gen(function* () {
    const script: Script = (_, at) => says(delta(`${at}`), call("current_time", {}), done({ costUsd: 0.0075 }))
    const limited = yield* run(script, task, null, { balance: 1 })
    assert.deepStrictEqual(
      limited.requests.map(({ options }) => options?.maxTokens),
      [1_898]
    )
    assert.containSubset(limited.end, { type: "done", message: "0", costUsd: 0.0075 })
    const paid = yield* run(script, task, null, { unitLimit: Units(1) })
    assert.strictEqual(paid.requests.length, 1)
    const none = yield* run(script, task, null, { balance: 0 })
    assert.deepStrictEqual(none.events, ["The units of this call cover no further model call."])
    const own = yield* run(script, task, null, { balance: 0, quoted: { ownKey: true } })
    assert.strictEqual(own.requests[0]?.options?.maxTokens, quote.maxTokens)
  })
)

it.effect("Orchestrator.run fails with the model's reason in any round", () =>
  Effect.gen(function* () {
    const { events } = yield* run((_, at) =>
      at === 0
        ? says(delta("One moment."), call("current_time", {}), done())
        : Stream.fail(new PluginFailed({ reason: "overloaded" }))
    )
    assert.deepStrictEqual(events, [{ type: "delta", text: "One moment." }, "overloaded"])
  })
)

it.effect("Orchestrator.run ends the model call when its reader leaves", () =>
  Effect.gen(function* () {
    const open = yield* Ref.make(0)
    const held = Stream.unwrapScoped(
      Effect.as(
        Effect.acquireRelease(
          Ref.update(open, (count) => count + 1),
          () => Ref.update(open, (count) => count - 1)
        ),
        Stream.concat(says(delta("first")), Stream.never)
      )
    )
    const reader = yield* Effect.forkDaemon(run(() => held))
    yield* Effect.repeat(Effect.zipRight(Effect.yieldNow(), Ref.get(open)), { until: (count) => count === 1 })
    yield* Fiber.interrupt(reader)
    assert.strictEqual(yield* Ref.get(open), 0)
  })
)

it.effect("Orchestrator.run bounds the size and the number of calculations", () =>
  Effect.gen(function* () {
    const sums = (count: number, expression: string) =>
      Array.from({ length: count }, (_, at) => call("calculate", { expression }, `c${at}`))
    const results = ({ messages }: ChatRequest) =>
      messages.flatMap((message) => (message.role === "tool" ? [message.content] : []))
    const heavy = yield* run((_, at) =>
      at === 0
        ? says(...sums(1, Array(20).fill("atan(1)").join("+")), ...sums(1, "sqrt(4)+2^3"), done())
        : says(delta("."), done())
    )
    assert.deepStrictEqual(heavy.requests[1] && results(heavy.requests[1]), [
      "There are too many functions and powers in it. Work it out in parts.",
      "10"
    ])
    const many = yield* run((_, at) => (at < 2 ? says(...sums(16, "1+1"), done()) : says(delta("."), done())))
    const all = many.requests[2] === undefined ? [] : results(many.requests[2])
    assert.strictEqual(all.filter((result) => result === "2").length, orchestratorLimits.calculations)
    assert.include(all.at(-1), "as often as one task allows")
  })
)

const step = FastCheck.record({
  text: FastCheck.string({ unit: "binary", maxLength: 200 }),
  calls: FastCheck.array(FastCheck.constantFrom("calculate", "current_time", "none", ""), { maxLength: 20 }),
  costUsd: FastCheck.double({ min: 0, max: 0.02, noNaN: true }),
  times: FastCheck.constantFrom(1, 400)
})

it.effect.prop(
  "The orchestrator ends within its window whatever the model does, and its deltas are the whole answer",
  [FastCheck.array(step, { minLength: 1, maxLength: 12 })],
  ([steps]) =>
    Effect.gen(function* () {
      const { end, events, requests } = yield* run((_, at) => {
        const { calls, costUsd, text, times } = steps[at % steps.length] ?? {
          calls: [],
          costUsd: 0,
          text: "",
          times: 1
        }
        return says(
          ...(text === "" ? [] : [delta(text.repeat(times))]),
          ...calls.map((name) => call(name, { expression: "2^0.5" }, "same")),
          done({ costUsd })
        )
      })
      assert.isAtMost(requests.length, 9)
      const pieces = events.flatMap((event) =>
        typeof event === "object" && event.type === "delta" ? [event.text] : []
      )
      assert.notInclude(pieces, "")
      assert.containSubset(end, { type: "done", message: pieces.join("") })
      for (const { messages, options } of requests) {
        assert.isAtMost(
          estimateMessagesTokens(messages) + estimateSerializedToolTokens(options?.tools ?? []),
          orchestratorLimits.window - orchestratorLimits.answerTokens
        )
        const ids = messages.flatMap((message) =>
          message.role === "assistant" ? (message.toolCalls ?? []).map(({ id }) => id) : []
        )
        const answered = messages.flatMap((message) => (message.role === "tool" ? [message.toolCallId] : []))
        assert.deepStrictEqual(answered, ids)
      }
    }),
  { fastCheck: { numRuns: 60 } }
)
