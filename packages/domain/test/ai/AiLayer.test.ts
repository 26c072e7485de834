import { streamFromReader } from "@berth/domain/ai/streams/ChunkReader"
import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import { ModelCatalog, type ModelProvider, ModelProviders } from "@berth/domain/ai/models/ModelProviders"
import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { AiLayer } from "@berth/domain/ai/AiLayer"
import type { ChatRequest } from "@berth/domain/ai/calls/ChatRequest"
import { type Model, ProviderName } from "@berth/domain/ai/models/Model"
import { type ModelCallRecord, ModelUsage } from "@berth/domain/ai/calls/ModelUsage"
import { OwnerKeys } from "@berth/domain/ai/keys/OwnerKeys"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { assert, describe, it } from "@effect/vitest"
import {
  Chunk,
  DateTime,
  Deferred,
  type Duration,
  Effect,
  Exit,
  Fiber,
  Layer,
  Metric,
  MetricState,
  Ref,
  type Scope,
  Stream,
  TestClock,
  type Tracer
} from "effect"
import { openChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { makeModel, modelsArbitrary } from "./ModelSamples.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { assertMatches } from "../../../../test/support/Matching.ts"
import { recordLogs } from "../../../../test/support/RecordedTelemetry.ts"

const opus = makeModel({ id: "anthropic/claude-opus-4-6", inputCost: 5, outputCost: 25 })
const gpt = makeModel({ id: "openai/gpt-4o", inputCost: 2, outputCost: 8 })
const sandbox = makeModel({ id: "sandbox/echo", provider: "sandbox", inputCost: 0, outputCost: 0 })

const text = (content: string): ModelEvent<ProviderEnding> => ({ type: "delta", text: content })
const end: ModelEvent<ProviderEnding> = {
  type: "done",
  usage: { promptTokens: 10, completionTokens: 20, totalTokens: 30 },
  finishReason: "stop"
}
const endUncounted: ModelEvent<ProviderEnding> = { type: "done", usage: null, finishReason: "stop" }

const fails = (provider: ProviderName, kind: ProviderFailed["kind"], retryAfter?: Duration.Duration) =>
  Stream.fail(new ProviderFailed({ provider, kind, reason: `is ${kind}`, retryAfter }))

type Script = (modelId: string, call: number) => Stream.Stream<ModelEvent<ProviderEnding>, ProviderFailed>

const provider = (name: ProviderName, script: Script, healthy: Effect.Effect<boolean> = Effect.succeed(true)) => {
  const calls: Array<string> = []
  const port: ModelProvider = {
    name,
    models: Effect.succeed([]),
    modelIds: Effect.succeed([]),
    healthy,
    chat: (modelId) =>
      Effect.suspend(() => {
        calls.push(modelId)
        return openChunkSource(script(modelId, calls.length))
      })
  }
  return { port, calls }
}

const recorded: Array<ModelCallRecord> = []

const layerOf = (providers: ReadonlyArray<ModelProvider>, models: ReadonlyArray<Model>) =>
  AiLayer.Default.pipe(
    Layer.provide([
      Layer.succeed(ModelProviders, { all: providers, withKey: () => Effect.dieMessage("nobody has keys here") }),
      OwnerKeys.none,
      Layer.succeed(ModelCatalog, { all: Effect.succeed(models) }),
      Layer.mock(ModelUsage, { record: (call) => Effect.sync(() => void recorded.push(call)) }),
      Layer.succeed(IdGenerator, { next: (prefix) => Effect.succeed(`${prefix}_1` as const) })
    ])
  )

const request = (changes: Partial<ChatRequest> = {}): ChatRequest => ({
  messages: [{ role: "user", content: "Hello there" }],
  model: "claude-opus-4-6",
  caller: { userId: null, agentId: null },
  ...changes
})

const withAi = <A, E>(
  providers: ReadonlyArray<ModelProvider>,
  models: ReadonlyArray<Model>,
  use: (ai: AiLayer) => Effect.Effect<A, E, Scope.Scope>
) => {
  recorded.length = 0
  return Effect.scoped(Effect.flatMap(AiLayer, use)).pipe(Effect.provide(layerOf(providers, models)))
}

const streamAnswer = (ai: AiLayer, requested: ChatRequest) =>
  Stream.unwrapScoped(Effect.map(ai.open(requested), ({ read }) => streamFromReader(read)))

/** Runs an effect that sleeps, and advances the clock as required. */
const letting = <A, E, R>(duration: Duration.DurationInput, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    yield* TestClock.adjust(duration)
    return yield* Fiber.join(fiber)
  })

describe("chat", () => {
  it.effect("AiLayer.open returns the answering model at once, and the deltas and their cost as events", () => {
    const router = provider("openrouter", () => Stream.make(text(""), text("Hel"), text("lo"), end))
    return withAi([router.port], [opus, gpt], (ai) =>
      Effect.gen(function* () {
        const userId = UserId.make("usr_1")
        const { events, opening } = yield* Effect.flatMap(
          ai.open(request({ caller: { userId, agentId: null } })),
          (opened) => Effect.map(Stream.runCollect(streamFromReader(opened.read)), (events) => ({ ...opened, events }))
        ).pipe(Effect.scoped)
        assert.deepStrictEqual(opening, {
          id: "cpl_1",
          model: opus.id,
          provider: "openrouter",
          ownKey: false,
          attempts: [{ model: opus.id, provider: "openrouter", outcome: "answered", tries: 1 }],
          overheadMs: 0
        })
        assert.deepStrictEqual(Chunk.toReadonlyArray(events), [
          { type: "delta", text: "Hel" },
          { type: "delta", text: "lo" },
          {
            type: "done",
            usage: { promptTokens: 10, completionTokens: 20, totalTokens: 30 },
            usageIsEstimated: false,
            costUsd: 0.00055,
            finishReason: "stop"
          }
        ])
        assert.deepStrictEqual(recorded, [
          {
            userId,
            agentId: null,
            provider: "openrouter",
            model: opus.id,
            promptTokens: 10,
            completionTokens: 20,
            ownKey: false,
            costUsd: 0.00055
          }
        ])
      })
    )
  })

  it.effect("AiLayer passes tool calls on, counts them as output, and names them in its span only", () => {
    const call = { id: "call_1", name: "calculate", arguments: '{"expression":"17*23"}' }
    const spans: Array<Tracer.AnySpan> = []
    const offered: Array<unknown> = []
    const router: ModelProvider = {
      ...provider("openrouter", () => Stream.empty).port,
      chat: (_, __, { tools }) =>
        Effect.flatMap(Effect.orDie(Effect.currentSpan), (span) => {
          spans.push(span)
          offered.push(tools)
          const chunks: ReadonlyArray<ModelEvent<ProviderEnding>> = [
            { type: "tool-call", call },
            { type: "done", usage: null, finishReason: "tool_calls" }
          ]
          return openChunkSource(Stream.fromIterable(chunks))
        })
    }
    const tools = [{ name: "calculate", description: "Calculates", parameters: { type: "object" } }]
    return withAi([router], [opus], (ai) =>
      Effect.gen(function* () {
        const events = Chunk.toReadonlyArray(
          yield* Stream.runCollect(streamAnswer(ai, request({ options: { tools } })))
        )
        assertMatches(events, [
          { type: "tool-call", call },
          { type: "done", finishReason: "tool_calls", usageIsEstimated: true, usage: { completionTokens: 18 } }
        ])
        assert.deepStrictEqual(offered, [tools])
        const [span] = spans
        const attributes = span?._tag === "Span" ? Object.fromEntries(span.attributes) : {}
        assertMatches(attributes, {
          "berth.tools.offered": 1,
          "berth.tools.called": 1,
          "gen_ai.response.finish_reasons": ["tool_calls"]
        })
        assert.notMatch(JSON.stringify(attributes), /17|expression/)
      })
    )
  })

  it.effect("AiLayer.complete returns the whole answer with its tool calls and cost", () => {
    const call = { id: "call_1", name: "calculate", arguments: "{}" }
    const router = provider("openrouter", () =>
      Stream.make<Array<ModelEvent<ProviderEnding>>>(text("So"), { type: "tool-call", call }, end)
    )
    return withAi([router.port], [opus], (ai) =>
      Effect.gen(function* () {
        assertMatches(yield* ai.complete(request()), { text: "So", toolCalls: [call], costUsd: 0.00055 })
      })
    )
  })

  it.effect("AiLayer sends images only to models with vision, unless another is named", () => {
    const seeing = makeModel({ id: "openai/gpt-4o", tags: ["general", "vision"] })
    const messages: ChatRequest["messages"] = [
      {
        role: "user",
        content: "What is this?",
        parts: [
          { type: "text", text: "What is this?" },
          { type: "image", source: { type: "url", url: "https://example.com/cat.png" } }
        ]
      }
    ]
    const router = provider("openrouter", (id) =>
      id === seeing.id ? Stream.make(text("A cat"), end) : fails("openrouter", "refused")
    )
    return withAi([router.port], [opus, makeModel({ id: "qwen/blind" }), seeing], (ai) =>
      Effect.gen(function* () {
        const unasked = yield* ai.complete(request({ messages, model: undefined, taskType: "coding" }))
        assertMatches(unasked.attempts, [{ model: seeing.id, outcome: "answered" }])
        const requested = yield* ai.complete(request({ messages }))
        assertMatches(requested.attempts, [
          { model: opus.id, outcome: "refused" },
          { model: seeing.id, outcome: "answered" }
        ])
      })
    ).pipe(
      Effect.zipRight(
        withAi([router.port], [opus], (ai) =>
          Effect.gen(function* () {
            const nobody = ai.complete(request({ messages, model: undefined }))
            assertMatches(yield* Effect.flip(nobody), { _tag: "ModelsUnavailable", taskType: "vision" })
          })
        )
      )
    )
  })

  it.effect("AiLayer estimates usage that the provider does not report, and marks it", () => {
    const router = provider("openrouter", () => Stream.make(text("12345"), text("678"), endUncounted))
    return withAi([router.port], [opus], (ai) =>
      Effect.gen(function* () {
        const answer = yield* ai.complete(request())
        assertMatches(answer, {
          text: "12345678",
          usageIsEstimated: true,
          usage: { promptTokens: 7, completionTokens: 8, totalTokens: 15 }
        })
        assertMatches(recorded, [{ promptTokens: 7, completionTokens: 8 }])
      })
    )
  })

  it.effect("AiLayer falls back before the first text, to the next provider and then the next model", () => {
    const router = provider("openrouter", (model) =>
      model === opus.id
        ? Stream.concat(Stream.make(text("")), fails("openrouter", "nonsense"))
        : Stream.make(text("!"), end)
    )
    return withAi([router.port], [opus, gpt], (ai) =>
      Effect.gen(function* () {
        const answer = yield* ai.complete(request())
        assertMatches(answer, { model: gpt.id, text: "!" })
        assert.deepStrictEqual(answer.attempts, [
          { model: opus.id, provider: "openrouter", outcome: "nonsense", tries: 1 },
          { model: gpt.id, provider: "openrouter", outcome: "answered", tries: 1 }
        ])
        assert.lengthOf(recorded, 1)
      })
    )
  })

  it.effect("AiLayer ends with a failure after the first text and records the output so far", () => {
    const router = provider("openrouter", () =>
      Stream.concat(Stream.make(text("Half")), fails("openrouter", "unreachable"))
    )
    return withAi([router.port], [opus, gpt], (ai) =>
      Effect.gen(function* () {
        const texts = yield* Ref.make("")
        const exit = yield* streamAnswer(ai, request()).pipe(
          Stream.runForEach((event) => Ref.update(texts, (all) => all + (event.type === "delta" ? event.text : "?"))),
          Effect.flip
        )
        assertMatches(exit, { _tag: "ProviderFailed", kind: "unreachable" })
        assert.strictEqual(yield* Ref.get(texts), "Half")
        assert.deepStrictEqual(router.calls, [opus.id])
        assertMatches(recorded, [{ completionTokens: 1 }])
      })
    )
  })

  it.effect("AiLayer retries temporary failures and counts the wait as overhead", () => {
    const router = provider("openrouter", (_, call) =>
      call < 3 ? fails("openrouter", "overloaded") : Stream.make(text("ok"), end)
    )
    return withAi([router.port], [opus], (ai) =>
      Effect.gen(function* () {
        const answer = yield* letting("2 seconds", ai.complete(request()))
        assert.deepStrictEqual(answer.attempts, [
          { model: opus.id, provider: "openrouter", outcome: "answered", tries: 3 }
        ])
        assert.isAtLeast(answer.overheadMs, 375)
        assert.isAtMost(answer.overheadMs, 1_125)
      })
    )
  })

  it.effect("AiLayer fails with the failure of the requested model and lists the other attempts", () => {
    const router = provider("openrouter", (model) =>
      fails("openrouter", model === opus.id ? "refused" : "unauthorized")
    )
    return withAi([router.port], [opus, gpt], (ai) =>
      Effect.gen(function* () {
        const failure = yield* Effect.flip(ai.complete(request()))
        assertMatches(failure, { _tag: "ProviderFailed", kind: "refused" })
        assert.propertyVal(failure, "reason", `is refused (then ${gpt.id} at openrouter: unauthorized)`)
        assert.deepStrictEqual(recorded, [])
      })
    )
  })

  it.effect("AiLayer waits for the first byte of a provider at most for its timeout", () => {
    const router = provider("openrouter", (model) =>
      model === opus.id ? Stream.never : Stream.make(text("late"), end)
    )
    return withAi([router.port], [opus, gpt], (ai) =>
      Effect.gen(function* () {
        const answer = yield* letting("30 seconds", ai.complete(request()))
        assertMatches(answer, { model: gpt.id, overheadMs: 30_000 })
        assertMatches(answer.attempts[0], { outcome: "timeout", tries: 1 })
      })
    )
  })

  it.effect("AiLayer accepts a keep-alive as activity, not as text", () => {
    const thinking = Stream.repeatEffect(Effect.as(Effect.sleep("25 seconds"), text(""))).pipe(Stream.take(4))
    const router = provider("openrouter", () => Stream.concat(thinking, Stream.make(text("thought"), end)))
    return withAi([router.port], [opus], (ai) =>
      Effect.gen(function* () {
        assertMatches(yield* letting("100 seconds", ai.complete(request())), { text: "thought" })
      })
    )
  })

  it.effect("AiLayer fails an answer that falls silent, and one that never ends", () => {
    const ticking = Stream.repeatEffect(Effect.as(Effect.sleep("50 seconds"), text(".")))
    const router = provider("openrouter", (model) =>
      model === opus.id
        ? Stream.concat(Stream.make(text("a")), Stream.never)
        : Stream.concat(Stream.make(text("b")), ticking)
    )
    return withAi([router.port], [opus, gpt], (ai) =>
      Effect.gen(function* () {
        const silent = yield* letting("60 seconds", Effect.flip(ai.complete(request())))
        assertMatches(silent, { kind: "timeout", reason: "no chunk within 1m" })
        const endless = yield* letting("10 minutes", Effect.flip(ai.complete(request({ model: gpt.id }))))
        assertMatches(endless, { kind: "timeout", reason: "the answer takes too long" })
      })
    )
  })

  it.effect("AiLayer.complete fails for an answer of more than 16 million characters", () => {
    const piece = text("x".repeat(1024 * 1024))
    const router = provider("openrouter", () =>
      Stream.concat(Stream.repeatValue(piece).pipe(Stream.take(17)), Stream.make(end))
    )
    return withAi([router.port], [opus], (ai) =>
      Effect.map(Effect.exit(Effect.flip(Effect.asVoid(ai.complete(request())))), (exit) => {
        assertMatches(Exit.isSuccess(exit) ? exit.value : null, { kind: "nonsense", reason: "the answer is too long" })
      })
    )
  })

  it.effect("AiLayer skips a model after five failures in a row, and tries it again after the cooldown", () => {
    let isUp = false
    const router = provider("openrouter", (model) =>
      isUp || model === gpt.id ? Stream.make(text("ok"), end) : fails("openrouter", "nonsense")
    )
    return withAi([router.port], [opus, gpt], (ai) =>
      Effect.gen(function* () {
        for (const _ of [1, 2, 3, 4, 5]) yield* ai.complete(request())
        const calls = router.calls.filter((id) => id === opus.id).length
        const skipping = yield* ai.complete(request())
        assertMatches(skipping.attempts[0], { model: opus.id, outcome: "skipped", tries: 0 })
        assert.lengthOf(
          router.calls.filter((id) => id === opus.id),
          calls
        )
        isUp = true
        yield* TestClock.adjust("30 seconds")
        assertMatches(yield* ai.complete(request()), { model: opus.id })
      })
    )
  })

  it.effect("AiLayer ends the provider's call when its consumer leaves, and records it", () => {
    const released = Deferred.unsafeMake<void>(Fiber.id(Fiber.never))
    const router = provider("openrouter", () =>
      Stream.ensuring(Stream.concat(Stream.make(text("a")), Stream.never), Deferred.succeed(released, undefined))
    )
    return withAi([router.port], [opus], (ai) =>
      Effect.gen(function* () {
        const began = yield* Deferred.make<void>()
        const fiber = yield* Effect.fork(
          Stream.runForEach(streamAnswer(ai, request()), () => Deferred.succeed(began, undefined))
        )
        yield* Deferred.await(began)
        yield* Fiber.interrupt(fiber)
        yield* Deferred.await(released)
        assertMatches(recorded, [{ completionTokens: 1 }])
      })
    )
  })

  it.effect("AiLayer records the prompt of a call that its caller leaves before the first text", () =>
    Effect.gen(function* () {
      const sent = yield* Deferred.make<void>()
      const router = provider("openrouter", () =>
        Stream.unwrap(Effect.as(Deferred.succeed(sent, undefined), Stream.never))
      )
      yield* withAi([router.port], [opus], (ai) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(Effect.scoped(ai.open(request())))
          yield* Deferred.await(sent)
          yield* Fiber.interrupt(fiber)
          assert.strictEqual(recorded.length, 1)
          assert.deepInclude(recorded[0], { promptTokens: 7, completionTokens: 0, provider: "openrouter" })
        })
      )
    })
  )

  it.effect("AiLayer records nothing for a call that its provider refuses", () =>
    withAi([provider("openrouter", () => fails("openrouter", "refused")).port], [opus], (ai) =>
      Effect.gen(function* () {
        yield* Effect.flip(ai.complete(request()))
        assert.deepStrictEqual(recorded, [])
      })
    )
  )

  it.effect("AiLayer limits an answer whose length its caller does not limit", () => {
    const limits: Array<number | undefined> = []
    const router: ModelProvider = {
      ...provider("openrouter", () => Stream.empty).port,
      chat: (_, __, { maxTokens }) => {
        limits.push(maxTokens)
        return openChunkSource(Stream.make(text("ok"), end))
      }
    }
    const small = makeModel({ id: "openai/small", contextWindow: 8_000 })
    return withAi([router], [opus, small], (ai) =>
      Effect.gen(function* () {
        yield* ai.complete(request())
        yield* ai.complete(request({ options: { maxTokens: 50_000 } }))
        yield* ai.complete(request({ model: "openai/small" }))
        assert.deepStrictEqual(limits, [4_096, 50_000, 2_000])
      })
    )
  })

  it.effect("AiLayer reads no more from a provider than its consumer", () => {
    let requested = 0
    const router = provider("openrouter", () =>
      Stream.repeatEffect(Effect.sync(() => text(String((requested += 1))))).pipe(Stream.rechunk(1))
    )
    return withAi([router.port], [opus], (ai) =>
      Effect.gen(function* () {
        const { read } = yield* ai.open(request())
        yield* Stream.runDrain(Stream.take(streamFromReader(read), 3))
        assert.isAtMost(requested, 4)
      })
    )
  })

  it.effect("AiLayer reports a call in a span and in metrics", () => {
    const spans: Array<Tracer.AnySpan> = []
    const router = provider("openrouter", () =>
      Stream.unwrap(
        Effect.map(Effect.orDie(Effect.currentSpan), (span) => {
          spans.push(span)
          return Stream.make(text("ok"), end)
        })
      )
    )
    const count = (name: string, tag: string) =>
      Effect.map(Metric.snapshot, (pairs) =>
        pairs
          .filter(({ metricKey }) => metricKey.name === name)
          .filter(({ metricKey }) => metricKey.tags.some(({ value }) => value === "told/of"))
          .filter(({ metricKey }) => metricKey.tags.some(({ value }) => value === tag))
          .map(({ metricState }) => (MetricState.isCounterState(metricState) ? Number(metricState.count) : null))
      )
    return withAi([router.port], [makeModel({ id: "told/of" })], (ai) =>
      Effect.gen(function* () {
        yield* ai.complete(request({ model: "told/of", options: { temperature: 0.5 } }))
        const [span] = spans
        assertMatches(span, { name: "chat of", kind: "client", status: { _tag: "Ended" } })
        assertMatches(span?._tag === "Span" ? Object.fromEntries(span.attributes) : {}, {
          "gen_ai.operation.name": "chat",
          "gen_ai.provider.name": "openrouter",
          "gen_ai.request.model": "of",
          "gen_ai.request.temperature": 0.5,
          "gen_ai.usage.input_tokens": 10,
          "gen_ai.usage.output_tokens": 20
        })
        assert.deepStrictEqual(yield* count("berth_model_calls_total", "answered"), [1])
        assert.deepStrictEqual(yield* count("berth_model_tokens_total", "completion"), [20])
      })
    )
  })

  it.effect("AiLayer fails the span of a call whose answer breaks off", () => {
    const spans: Array<Tracer.AnySpan> = []
    const router = provider("openrouter", () =>
      Stream.unwrap(
        Effect.map(Effect.orDie(Effect.currentSpan), (span) => {
          spans.push(span)
          return Stream.concat(Stream.make(text("Hel")), fails("openrouter", "timeout"))
        })
      )
    )
    return withAi([router.port], [makeModel({ id: "cut/off" })], (ai) =>
      Effect.gen(function* () {
        const read = Effect.flatMap(ai.open(request({ model: "cut/off" })), ({ read }) =>
          // A streamed response reports the failure as its last event, and succeeds.
          Effect.ignore(Stream.runDrain(streamFromReader(read)))
        )
        yield* Effect.scoped(read)
        const [span] = spans
        assertMatches(span, { status: { _tag: "Ended", exit: { _tag: "Failure" } } })
        assertMatches(span?._tag === "Span" ? Object.fromEntries(span.attributes) : {}, { "error.type": "timeout" })
      })
    )
  })

  it.effect("AiLayer measures failed calls with the kind of their failure, before and after their first text", () => {
    const router = provider("openrouter", (modelId) =>
      modelId === "told/unheard"
        ? fails("openrouter", "unauthorized")
        : Stream.concat(
            Stream.make(text("Hel")),
            modelId === "told/broken" ? fails("openrouter", "timeout") : Stream.make(end)
          )
    )
    const names = ["told/unheard", "told/broken", "told/whole"]
    return withAi(
      [router.port],
      names.map((id) => makeModel({ id })),
      (ai) =>
        Effect.gen(function* () {
          for (const model of names) yield* Effect.exit(ai.complete(request({ model })))
          const measured = (yield* Metric.snapshot).flatMap(({ metricKey: { name, tags }, metricState }) => {
            const labels = Object.fromEntries(tags.map(({ key, value }) => [key, value]))
            return name === "berth_model_call_seconds" &&
              MetricState.isHistogramState(metricState) &&
              names.includes(labels["model"] ?? "")
              ? [[labels["model"], labels["error"] ?? "", metricState.count]]
              : []
          })
          assert.sameDeepMembers(measured, [
            ["told/unheard", "unauthorized", 1],
            ["told/broken", "timeout", 1],
            // Also the fallback of the first.
            ["told/whole", "", 2]
          ])
        })
    )
  })

  it.effect("AiLayer rejects requests that it cannot answer", () => {
    const router = provider("openrouter", () => Stream.make(text("ok"), end))
    return withAi([router.port], [opus], (ai) =>
      Effect.gen(function* () {
        assert.propertyVal(yield* Effect.flip(ai.complete(request({ messages: [] }))), "_tag", "MessagesMissing")
        const unknown = request({ model: "acme/one", unknownModel: "refuse" })
        assertMatches(yield* Effect.flip(ai.complete(unknown)), { _tag: "ModelNotFound", model: "acme/one" })
      })
    )
  })

  it.effect("AiLayer fails with ModelsUnavailable when no model is available", () =>
    withAi([], [{ ...opus, available: false }], (ai) =>
      Effect.gen(function* () {
        assert.propertyVal(yield* Effect.flip(ai.complete(request())), "_tag", "ModelsUnavailable")
        assertMatches(yield* Effect.flip(ai.select("coding")), { _tag: "ModelsUnavailable", taskType: "coding" })
      })
    )
  )

  it.effect("AiLayer answers from the sandbox for an unavailable model, and logs that once", () => {
    const { layer: logger, lines } = recordLogs()
    const local = provider("sandbox", () => Stream.make(text("echo"), end))
    return withAi([local.port], [{ ...opus, available: false }, sandbox], (ai) =>
      Effect.gen(function* () {
        assertMatches(yield* ai.complete(request()), { model: sandbox.id, provider: "sandbox" })
        yield* ai.complete(request())
        assert.lengthOf(lines, 1)
      })
    ).pipe(Effect.provide(logger))
  })
})

describe("health", () => {
  const up = provider("openrouter", () => Stream.empty)
  const down = provider("openai", () => Stream.empty, Effect.succeed(false))

  it.effect("AiLayer.health is healthy, degraded, or an error, by how many providers can be reached", () =>
    Effect.gen(function* () {
      const health = (...providers: ReadonlyArray<ModelProvider>) =>
        withAi(providers, [], (ai) => Effect.exit(ai.health()))
      assert.deepStrictEqual(
        yield* health(up.port),
        Exit.succeed({ status: "healthy", providers: { openrouter: true } })
      )
      assert.deepStrictEqual(
        yield* health(up.port, down.port),
        Exit.succeed({ status: "degraded", providers: { openrouter: true, openai: false } })
      )
      const none = yield* withAi([down.port], [], (ai) => Effect.flip(ai.health()))
      assertMatches(none, { _tag: "AiServiceUnavailable", providers: { openai: false } })
      assert.propertyVal(yield* withAi([], [], (ai) => Effect.flip(ai.health())), "_tag", "AiServiceUnavailable")
    })
  )

  it.effect("AiLayer.health checks a provider at most once in 15 seconds", () =>
    Effect.gen(function* () {
      let requested = 0
      const isAsked = yield* Deferred.make<void>()
      const mayAnswer = yield* Deferred.make<void>()
      const slow = Effect.suspend(() => {
        requested += 1
        return Effect.zipRight(Deferred.succeed(isAsked, undefined), Deferred.await(mayAnswer))
      }).pipe(Effect.as(true))
      return yield* withAi([provider("openrouter", () => Stream.empty, slow).port], [], (ai) =>
        Effect.gen(function* () {
          const first = yield* Effect.fork(ai.health())
          const others = yield* Effect.forkAll(Array.from({ length: 20 }, () => ai.health()))
          yield* Deferred.await(isAsked)
          // The first caller leaves; the check continues for the others.
          const leaving = yield* Effect.fork(Fiber.interrupt(first))
          yield* Effect.yieldNow()
          yield* Deferred.succeed(mayAnswer, undefined)
          assert.lengthOf(yield* Fiber.join(others), 20)
          yield* Fiber.join(leaving)
          yield* ai.health()
          assert.strictEqual(requested, 1)
          yield* TestClock.adjust("15 seconds")
          yield* ai.health()
          assert.strictEqual(requested, 2)
        })
      )
    })
  )

  it.effect("AiLayer.health reports an unresponsive provider as down", () =>
    withAi([up.port, provider("groq", () => Stream.empty, Effect.never).port], [], (ai) =>
      Effect.gen(function* () {
        const health = yield* letting("5 seconds", ai.health())
        assert.deepStrictEqual(health, { status: "degraded", providers: { openrouter: true, groq: false } })
      })
    )
  )
})

describe("providers", () => {
  it.effect(
    "AiLayer.providers reports reachability, breaker and last outcomes of calls with the platform's keys",
    () => {
      const router = provider("openrouter", (_, call) =>
        call === 1
          ? Stream.concat(Stream.drain(Stream.fromEffect(Effect.sleep("40 millis"))), Stream.make(text("Hi"), end))
          : fails("openrouter", "unauthorized")
      )
      const quiet = provider("groq", () => Stream.empty, Effect.succeed(false))
      const idle = { breaker: "closed" as const, lastSuccess: null, lastFailure: null }
      return withAi([router.port, quiet.port], [opus], (ai) =>
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* ai.providers(), [
            { provider: "openrouter", reachable: true, ...idle },
            { provider: "groq", reachable: false, ...idle }
          ])
          yield* letting("40 millis", ai.complete(request()))
          const lastSuccess = { at: DateTime.unsafeMake(40), firstTextMs: 40 }
          yield* TestClock.adjust("1 second")
          for (let call = 0; call < 5; call += 1) yield* Effect.flip(ai.complete(request()))
          const [failing] = yield* ai.providers()
          assert.deepStrictEqual(failing, {
            provider: "openrouter",
            reachable: true,
            breaker: "open",
            lastSuccess,
            lastFailure: { at: DateTime.unsafeMake(1_040), kind: "unauthorized" }
          })
          yield* TestClock.adjust("30 seconds")
          assert.deepInclude((yield* ai.providers())[0], { breaker: "probing" })
        })
      )
    }
  )

  it.effect("AiLayer.providers lists no provider when none is configured", () =>
    withAi([], [], (ai) => Effect.map(ai.providers(), (found) => assert.deepStrictEqual(found, [])))
  )
})

describe("the rest", () => {
  const router = provider("openrouter", () => Stream.empty)

  it.effect("AiLayer.models counts models by provider", () =>
    withAi([router.port], [opus, gpt, sandbox], (ai) =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* ai.models()).providers, { openrouter: 2, sandbox: 1 })
        assert.deepStrictEqual((yield* ai.modelsOf("openrouter")).models, [opus, gpt])
        assert.deepStrictEqual((yield* ai.modelsOf("groq")).models, [])
        assertMatches(yield* Effect.flip(ai.modelsOf("acme")), { _tag: "ProviderNotFound" })
      })
    )
  )

  it.effect.prop("AiLayer.models counts exactly the models that it lists", [modelsArbitrary], ([models]) =>
    withAi([router.port], models, (ai) =>
      Effect.gen(function* () {
        const listed = yield* ai.models()
        const counts = Object.values(listed.providers)
        assert.strictEqual(
          counts.reduce((sum, count) => sum + count, 0),
          listed.models.length
        )
        for (const name of ProviderName.literals) {
          const { models: own, provider: named } = yield* ai.modelsOf(name)
          assert.strictEqual(named, name)
          assert.deepStrictEqual(
            own,
            listed.models.filter((model) => model.provider === name)
          )
          assert.strictEqual(listed.providers[name] ?? 0, own.length)
        }
      })
    )
  )

  it.effect("AiLayer accepts a provider's other name", () =>
    withAi([router.port], [makeModel({ id: "google/gemini-2.5-pro", provider: "google" })], (ai) =>
      Effect.gen(function* () {
        assertMatches(yield* ai.modelsOf("gemini"), { provider: "google", models: [{ provider: "google" }] })
      })
    )
  )

  it.effect("AiLayer.model finds available models only", () => {
    const absent = makeModel({ id: "openai/gpt-5", available: false })
    return withAi([router.port], [opus, absent], (ai) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* ai.find("claude-opus-4.6"), opus)
        for (const id of [absent.id, "acme/one"]) {
          assertMatches(yield* Effect.flip(ai.find(id)), { _tag: "ModelNotFound", model: id })
        }
      })
    )
  })

  it.effect("AiLayer selects models and estimates costs", () =>
    withAi([router.port], [opus, gpt], (ai) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* ai.select("whatever"), { taskType: "general", model: gpt })
        assert.deepStrictEqual(yield* ai.estimate({ model: "gpt-4o", inputTokens: 1_000, outputTokens: 1_000 }), {
          model: gpt,
          costUsd: 0.01
        })
        const unknown = ai.estimate({ model: "acme/one", inputTokens: 1, outputTokens: 1 })
        assertMatches(yield* Effect.flip(unknown), { _tag: "ModelNotFound" })
        const negative = ai.estimate({ model: "gpt-4o", inputTokens: -1, outputTokens: 1 })
        assertMatches(yield* Effect.flip(negative), { _tag: "TokenCountInvalid" })
      })
    )
  )
})
