import { type AiSettings, defaultAiSettings } from "@berth/domain/ai/calls/AiSettings"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Duration, Effect, Either, Stream } from "effect"
import { type ModelBehavior, makeFakeOpenAi } from "../fakes/models/FakeOpenAi.ts"
import { anthropicWire, helloMessages, streamAnswer } from "../fakes/models/ModelWires.ts"
import { accessTo, buildAiLayer } from "../support/AiLayers.ts"
import { assertMatches } from "../support/Matching.ts"

const model = "openai/gpt-4o"
const sse = "text/event-stream"

/** Long enough for a healthy vendor on a loaded machine. */
const timeout = Duration.seconds(5)

/** The AI layer with two protocols; each vendor can replace the other. */
const twoVendors = (changes: Partial<AiSettings["Type"]> = {}) =>
  Effect.gen(function* () {
    const [openai, anthropic] = [yield* makeFakeOpenAi(), yield* anthropicWire.makeFake]
    const { ai } = yield* buildAiLayer(
      { openai: accessTo(openai), anthropic: accessTo(anthropic) },
      { settings: changes }
    )
    const request = { messages: helloMessages, model, caller: { userId: null, agentId: null } }
    return { ai, request, openai, ask: ai.complete(request) }
  })

const times = (count: number, behavior: ModelBehavior) => Array.from({ length: count }, () => behavior)
const refused = (status: number, headers: Readonly<Record<string, string>> = {}): ModelBehavior => ({
  type: "refuse",
  status,
  error: { message: "No" },
  headers
})
const streamed = (body: string): ModelBehavior => ({ type: "raw", contentType: sse, body })

/** Failures before the first delta: kind and number of attempts. */
const vendorFailures: ReadonlyArray<readonly [what: string, behavior: ModelBehavior, outcome: string, tries: number]> =
  [
    ["a vendor that hangs", { type: "hang" }, "timeout", 1],
    ["a stream that hangs at its beginning", { type: "break-off", pieces: [], by: "hanging" }, "timeout", 1],
    ["a connection that is cut", { type: "break-off", pieces: [], by: "cutting" }, "unreachable", 3],
    ["a stream that ends too soon", { type: "break-off", pieces: [], by: "ending" }, "nonsense", 1],
    ["an event that cannot be read", streamed("data: {oops\n\n"), "nonsense", 1],
    ["a rate limit that passes soon", refused(429, { "retry-after-ms": "10" }), "rate-limited", 3],
    ["a rate limit that lasts", refused(429, { "retry-after": "3600" }), "rate-limited", 1],
    ["an overload", refused(503), "overloaded", 3],
    ["a key that is refused", refused(401), "unauthorized", 1],
    ["a request that is refused", refused(400), "refused", 1]
  ]

describe.concurrent("A failure before the first delta", () => {
  for (const [what, behavior, outcome, tries] of vendorFailures)
    it.scopedLive(`The AI layer falls back to another model before the first delta of ${what}`, () =>
      Effect.gen(function* () {
        const { ask, openai } = yield* twoVendors(
          outcome === "timeout" ? { firstByteTimeout: timeout, idleTimeout: timeout } : {}
        )
        openai.respondWith(...times(tries, behavior))
        const answer = yield* ask
        assert.strictEqual(answer.text, "You said: Hello")
        assertMatches(answer.attempts, [
          { provider: "openai", model, outcome, tries },
          { provider: "anthropic", outcome: "answered", tries: 1 }
        ])
      })
    )
})

describe.concurrent("A failure after the first delta", () => {
  const later: ReadonlyArray<readonly [what: string, behavior: ModelBehavior, kind: string]> = [
    ["a connection that is cut", { type: "break-off", pieces: ["Half "], by: "cutting" }, "unreachable"],
    ["a stream that falls silent", { type: "break-off", pieces: ["Half "], by: "hanging" }, "timeout"],
    ["a stream that ends too soon", { type: "break-off", pieces: ["Half "], by: "ending" }, "nonsense"],
    [
      "an event that cannot be read",
      streamed(`data: {"choices":[{"delta":{"content":"Half "}}]}\n\ndata: {oops\n\n`),
      "nonsense"
    ]
  ]
  for (const [what, behavior, kind] of later)
    it.scopedLive(`The AI layer ends the answer without a fallback after the first delta of ${what}`, () =>
      Effect.gen(function* () {
        const { ai, openai, request } = yield* twoVendors(
          kind === "timeout" ? { idleTimeout: Duration.millis(300) } : {}
        )
        openai.respondWith(behavior)
        const events = yield* Stream.runCollect(Stream.either(streamAnswer(ai, request)))
        const texts = Chunk.toReadonlyArray(events).flatMap((event) =>
          Either.isRight(event) && event.right.type === "delta" ? [event.right.text] : []
        )
        assert.deepStrictEqual(texts, ["Half "])
        assertMatches(Chunk.unsafeLast(events), { _tag: "Left", left: { _tag: "ProviderFailed", kind } })
      })
    )
})

describe.concurrent("A vendor that keeps failing", () => {
  // Lasting failures of a model, or of the whole vendor.
  const lasting: ReadonlyArray<readonly [what: string, behavior: ModelBehavior]> = [
    ["that hangs", { type: "hang" }],
    ["that cuts connections", { type: "break-off", pieces: [], by: "cutting" }],
    ["that sends malformed events", streamed("data: {oops\n\n")],
    ["that is overloaded", refused(503)],
    ["that refuses the key", refused(401)]
  ]
  for (const [what, behavior] of lasting)
    it.scopedLive(`The AI layer skips a vendor ${what} for a while and then tries it again`, () =>
      Effect.gen(function* () {
        const rest = Duration.seconds(5)
        const { ask, openai } = yield* twoVendors({
          firstByteTimeout: timeout,
          retry: { ...defaultAiSettings.retry, retries: 0 },
          breaker: { failures: 2, cooldown: rest }
        })
        const outcome = Effect.map(ask, ({ attempts }) => attempts[0]?.outcome)
        openai.respondWith(...times(2, behavior))
        for (const _ of [1, 2]) assert.notStrictEqual(yield* outcome, "answered")
        const requested = openai.received.length
        // CircuitBreaker.test.ts checks the exact duration.
        const outcomes = yield* Effect.iterate([yield* outcome], {
          while: (seen) => seen.at(-1) === "skipped",
          body: (seen) => Effect.map(Effect.delay(outcome, "50 millis"), (next) => [...seen, next])
        }).pipe(Effect.timeout("30 seconds"))
        assert.strictEqual(outcomes.at(0), "skipped")
        assert.strictEqual(outcomes.at(-1), "answered")
        assert.strictEqual(openai.received.length, requested + 1)
      })
    )

  it.scopedLive("The AI layer does not skip a vendor that rejects requests", () =>
    Effect.gen(function* () {
      const { ask, openai } = yield* twoVendors({ breaker: { failures: 2, cooldown: Duration.minutes(1) } })
      openai.respondWith(...times(4, refused(400)))
      for (const _ of [1, 2, 3, 4]) assert.strictEqual((yield* ask).attempts[0]?.outcome, "refused")
      assert.strictEqual((yield* ask).attempts[0]?.outcome, "answered")
    })
  )
})
