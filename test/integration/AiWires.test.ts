import type { ChatMessage, ModelProvider } from "@berth/domain/ai/ModelChat"
import { makeSandboxProvider, sandboxModel } from "@berth/infra/ai/SandboxProvider"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Logger, Schedule, type Scope, Stream, Tracer } from "effect"
import OpenAI from "openai"
import { mockByOthers } from "../support/vendors/MockByOthers.ts"
import { openAiStandIn } from "../support/vendors/OpenAiStandIn.ts"
import {
  anthropicWire,
  chat,
  connect,
  eventually,
  googleWire,
  groqWire,
  hello,
  openAiWire,
  protocols,
  textOf,
  wires
} from "../support/vendors/Wires.ts"

/** What every provider of models does, whoever is behind it. */
const provides = (name: string, make: Effect.Effect<{ provider: ModelProvider; model: string }, never, Scope.Scope>) =>
  describe(`the provider ${name}`, () => {
    it.scopedLive("answers in text that ends with what it took", () =>
      Effect.gen(function* () {
        const { model, provider } = yield* make
        const chunks = yield* chat(provider, model)
        expect(textOf(chunks)).toContain("Hello")
        expect(chunks.slice(0, -1).every(({ type }) => type === "text")).toBe(true)
        const last = chunks.at(-1)
        expect(last).toMatchObject({ type: "end", finishReason: "stop" })
        if (last?.type === "end" && last.usage !== null) {
          expect(last.usage.totalTokens).toBe(last.usage.promptTokens + last.usage.completionTokens)
          expect(last.usage.promptTokens).toBeGreaterThan(0)
        } else expect.fail("it did not count")
      })
    )

    it.scopedLive("is healthy", () =>
      Effect.gen(function* () {
        expect(yield* (yield* make).provider.healthy).toBe(true)
      })
    )

    it.scopedLive("fails in the words of the port for a model it does not have", () =>
      Effect.gen(function* () {
        const { provider } = yield* make
        const failure = yield* Effect.flip(chat(provider, "acme/none"))
        expect(failure).toMatchObject({ _tag: "ProviderFailed", provider: provider.name, kind: "refused" })
      })
    )

    it.scopedLive("can be interrupted", () =>
      Effect.gen(function* () {
        const { model, provider } = yield* make
        const first = yield* Stream.runHead(provider.chat(model, hello, {}))
        expect(first._tag).toBe("Some")
      })
    )
  })

provides("sandbox", Effect.succeed({ provider: makeSandboxProvider(), model: sandboxModel.id }))
for (const { model, name, standIn } of wires) {
  provides(
    name,
    Effect.map(
      Effect.flatMap(standIn, (access) => connect(name, access)),
      (provider) => ({ provider, model })
    )
  )
}
provides(
  "of a mock by others",
  Effect.gen(function* () {
    const server = yield* mockByOthers
    server.on({ model: "gpt-4o", userMessage: "Hello" }, { content: "Hello to you too" })
    return { provider: yield* connect("openai", { baseUrl: `${server.url}/v1` }), model: "openai/gpt-4o" }
  })
)

describe("the stand-in", () => {
  it.scopedLive("is taken for OpenAI by OpenAI's own client", () =>
    Effect.gen(function* () {
      const standIn = yield* openAiStandIn()
      const client = (apiKey: string) => new OpenAI({ apiKey, baseURL: standIn.baseUrl, maxRetries: 0 })
      const messages = [{ role: "user" as const, content: "Hello" }]
      const whole = yield* Effect.promise(() =>
        client(standIn.apiKey).chat.completions.create({ model: "gpt-4o", messages })
      )
      expect(whole.choices[0]?.message.content).toBe("You said: Hello")
      const streamed = yield* Effect.promise(async () => {
        let text = ""
        const stream = await client(standIn.apiKey).chat.completions.create({ model: "gpt-4o", messages, stream: true })
        for await (const { choices } of stream) text += choices[0]?.delta.content ?? ""
        return text
      })
      expect(streamed).toBe("You said: Hello")
      const refused = yield* Effect.flip(
        Effect.tryPromise(() => client("sk-wrong").chat.completions.create({ model: "gpt-4o", messages }))
      )
      expect(refused.error).toBeInstanceOf(OpenAI.AuthenticationError)
    })
  )
})

describe.each(protocols)("the wire to $name", ({ model, name, standIn: someStandIn }) => {
  it.scopedLive("takes the pieces as they come, with the vendor's count", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      standIn.next({ type: "answer", pieces: ["Grüß ", "Gott, ", "日本 🚢"] })
      const chunks = yield* chat(yield* connect(name, standIn), model)
      expect(chunks.filter((chunk) => chunk.type === "text" && chunk.text !== "")).toEqual([
        { type: "text", text: "Grüß " },
        { type: "text", text: "Gott, " },
        { type: "text", text: "日本 🚢" }
      ])
      expect(chunks.at(-1)).toEqual({
        type: "end",
        finishReason: "stop",
        usage: { promptTokens: 7, completionTokens: 3, totalTokens: 10 }
      })
    })
  )

  it.scopedLive("uses a connection again", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      const provider = yield* connect(name, standIn)
      for (const _ of [1, 2, 3, 4, 5, 6]) yield* chat(provider, model)
      expect(standIn.received).toHaveLength(6)
      // The client may open a second one while the first is just about to be free.
      expect(standIn.connections()).toBeLessThanOrEqual(2)
    })
  )

  it.scopedLive("does not wait for a connection to close after the last word", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      standIn.next({ type: "answer", pieces: ["Hi"], staysOpen: true })
      // The other side never closes it.
      expect(textOf(yield* chat(yield* connect(name, standIn), model))).toBe("Hi")
    })
  )

  it.scopedLive("says so when the vendor does not count", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      standIn.next({ type: "answer", pieces: ["Hi"], withoutUsage: true })
      expect((yield* chat(yield* connect(name, standIn), model)).at(-1)).toEqual({
        type: "end",
        finishReason: "stop",
        usage: null
      })
    })
  )

  it.scopedLive("tells strangers nothing of our traces, and our traces nothing of the key", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      const attributes: Array<unknown> = []
      const tracer = Tracer.make({
        context: (run) => run(),
        span: (label, parent, context, links, startTime, kind) => ({
          _tag: "Span",
          name: label,
          parent,
          context,
          links,
          kind,
          spanId: label,
          traceId: "trace",
          sampled: true,
          attributes: new Map(),
          status: { _tag: "Started", startTime },
          end: () => {},
          attribute: (key, value) => void attributes.push([key, value]),
          event: () => {},
          addLinks: () => {}
        })
      })
      yield* chat(yield* connect(name, standIn), model).pipe(Effect.withSpan("caller"), Effect.withTracer(tracer))
      const [request] = standIn.received
      for (const header of ["traceparent", "b3", "tracestate"]) expect(request?.headers).not.toHaveProperty(header)
      expect(JSON.stringify(request?.headers)).toContain(standIn.apiKey)
      expect(request?.path).not.toContain(standIn.apiKey)
      expect(attributes.length).toBeGreaterThan(5)
      expect(JSON.stringify(attributes)).not.toContain(standIn.apiKey)
    })
  )

  it.scopedLive("gives away no key, though the vendor quotes it", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      const apiKey = "sk-wrong-but-secret"
      const lines: Array<string> = []
      const logger = Logger.make(({ cause, message }) => void lines.push(JSON.stringify([message, cause])))
      const provider = yield* connect(name, { baseUrl: standIn.baseUrl, apiKey })
      const failure = yield* Effect.flip(chat(provider, model)).pipe(
        Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
        Effect.tap(provider.healthy)
      )
      expect(failure).toMatchObject({ kind: "unauthorized" })
      expect(JSON.stringify([failure, failure.message, failure.stack, lines])).not.toContain(apiKey)
      standIn.next({ type: "refuse", status: 500, error: { message: `debug: ${standIn.apiKey}` } })
      const quoted = yield* Effect.flip(chat(yield* connect(name, standIn), model))
      expect(quoted.reason).toContain("debug: ")
      expect(quoted.reason).not.toContain(standIn.apiKey)
    })
  )

  it.scopedLive("is not healthy with a key that is wrong, nor without a server", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      expect(yield* (yield* connect(name, { baseUrl: standIn.baseUrl, apiKey: "wrong" })).healthy).toBe(false)
      const nowhere = yield* connect(name, { baseUrl: "http://127.0.0.1:9/v1" })
      expect(yield* Effect.flip(chat(nowhere, model))).toMatchObject({ kind: "unreachable" })
      expect(yield* nowhere.healthy).toBe(false)
    })
  )

  it.scopedLive("ends the vendor's work when nobody wants the answer any more", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      const provider = yield* connect(name, standIn)
      for (const behaviour of [{ type: "hang" }, { type: "break-off", pieces: ["Hi"], by: "hanging" }] as const) {
        const before = standIn.left()
        standIn.next(behaviour)
        const fiber = yield* Effect.fork(chat(provider, model))
        yield* eventually(() => standIn.received.length > before)
        yield* Fiber.interrupt(fiber)
        yield* eventually(() => standIn.left() === before + 1)
      }
      standIn.next({ type: "endless" })
      yield* Stream.runDrain(Stream.take(provider.chat(model, hello, {}), 3))
      yield* eventually(() => standIn.left() === 3)
    })
  )

  it.scopedLive("ends the vendor's work on what is no answer", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      standIn.next({ type: "raw", contentType: "text/html", body: "<h1>Please wait</h1>", staysOpen: true })
      expect(yield* Effect.flip(chat(yield* connect(name, standIn), model))).toMatchObject({ kind: "nonsense" })
      yield* eventually(() => standIn.left() === 1)
    })
  )

  it.scopedLive("takes no more than is read", () =>
    Effect.gen(function* () {
      const standIn = yield* someStandIn
      const provider = yield* connect(name, standIn)
      standIn.next({ type: "endless" })
      const pull = yield* Stream.toPull(provider.chat(model, hello, {}))
      yield* pull
      // As long as the buffers between here and there fill, it goes on; then it stands.
      let last = -1
      yield* Effect.suspend(() => {
        const stands = standIn.streamed() === last
        last = standIn.streamed()
        return Effect.succeed(stands)
      }).pipe(
        Effect.repeat({ until: (stands) => stands, schedule: Schedule.spaced("200 millis") }),
        Effect.timeout("60 seconds")
      )
      expect(last).toBeGreaterThan(0)
      expect(last).toBeLessThan(64 * 1024 * 1024)
    })
  )
})

describe("what a vendor is asked", () => {
  const messages: ReadonlyArray<ChatMessage> = [
    { role: "system", content: "Be brief" },
    { role: "user", content: "Hello" }
  ]
  const options = { temperature: 0.2, topP: 0.9, maxTokens: 50 }

  it.scopedLive("is in OpenAI's words", () =>
    Effect.gen(function* () {
      const standIn = yield* openAiWire.standIn
      const provider = yield* connect("openai", standIn)
      yield* Stream.runDrain(provider.chat("openai/gpt-4o", messages, options))
      yield* Stream.runDrain(provider.chat("openai/gpt-5", messages, options))
      const [request, reasoning] = standIn.received
      expect(request?.body).toEqual({
        model: "gpt-4o",
        messages,
        stream: true,
        stream_options: { include_usage: true },
        temperature: 0.2,
        top_p: 0.9,
        max_tokens: 50
      })
      // The stand-in refuses, as OpenAI does, what this model does not take.
      expect(reasoning?.body).toMatchObject({ model: "gpt-5", max_completion_tokens: 50 })
    })
  )

  it.scopedLive("is in Anthropic's words", () =>
    Effect.gen(function* () {
      const standIn = yield* anthropicWire.standIn
      const provider = yield* connect("anthropic", standIn)
      const ask = (model: string) => Stream.runDrain(provider.chat(model, messages, options))
      // The stand-in refuses, as Anthropic does, what these models do not take.
      yield* Effect.forEach(["claude-opus-4-6", "claude-opus-4-7", "claude-sonnet-4"], (name) =>
        ask(`anthropic/${name}`)
      )
      yield* Stream.runDrain(provider.chat("anthropic/claude-3-haiku", hello, { temperature: 1.7 }))
      const [request, later, alias, old] = standIn.received
      expect(request).toMatchObject({
        path: "/v1/messages",
        headers: { "x-api-key": standIn.apiKey, "anthropic-version": "2023-06-01" }
      })
      const body = { system: "Be brief", messages: [{ role: "user", content: "Hello" }], max_tokens: 50, stream: true }
      expect(request?.body).toEqual({ model: "claude-opus-4-6", temperature: 0.2, ...body })
      expect(later?.body).toEqual({ model: "claude-opus-4-7", ...body })
      expect(alias?.body).toMatchObject({ model: "claude-sonnet-4-0" })
      expect(old?.body).toMatchObject({ model: "claude-3-haiku-20240307", max_tokens: 4096, temperature: 1 })
    })
  )

  it.scopedLive("is in Google's words, with the key in a header alone", () =>
    Effect.gen(function* () {
      const standIn = yield* googleWire.standIn
      const provider = yield* connect("google", standIn)
      yield* Stream.runDrain(provider.chat("google/gemini-2.5-pro", messages, options))
      yield* Effect.flip(chat(provider, "google/../../elsewhere"))
      const [request, escaped] = standIn.received
      expect(request).toMatchObject({
        path: "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        headers: { "x-goog-api-key": standIn.apiKey }
      })
      expect(request?.body).toEqual({
        systemInstruction: { parts: [{ text: "Be brief" }] },
        contents: [{ role: "user", parts: [{ text: "Hello" }] }],
        generationConfig: { temperature: 0.2, topP: 0.9, maxOutputTokens: 50 }
      })
      expect(escaped?.path).toBe("/v1beta/models/..%2F..%2Felsewhere:streamGenerateContent?alt=sse")
    })
  )

  it.scopedLive.each([anthropicWire, googleWire])(
    "is a conversation by turns for $name",
    ({ model, name, standIn: some }) =>
      Effect.gen(function* () {
        const standIn = yield* some
        const provider = yield* connect(name, standIn)
        const talks: ReadonlyArray<ReadonlyArray<ChatMessage>> = [
          [{ role: "system", content: "You greet people" }],
          [
            { role: "assistant", content: "Welcome" },
            { role: "user", content: "Hi" },
            { role: "user", content: " " },
            { role: "assistant", content: "" },
            { role: "user", content: "Hello" }
          ],
          [
            { role: "user", content: "Hello" },
            { role: "assistant", content: "Hello to you" }
          ]
        ]
        // Anthropic refuses blanks and an assistant's first or last word, Google the last; so do their stand-ins.
        for (const talk of talks) expect((yield* chat(provider, model, talk)).at(-1)).toMatchObject({ type: "end" })
      })
  )

  it.scopedLive("is answered by a server like OpenAI's that does not stream", () =>
    Effect.gen(function* () {
      const standIn = yield* openAiWire.standIn
      const body = JSON.stringify({
        choices: [{ message: { role: "assistant", content: "All at once" } }],
        usage: null
      })
      standIn.next({ type: "raw", contentType: "application/json", body })
      const chunks = yield* chat(yield* connect("openai", standIn), openAiWire.model)
      expect(textOf(chunks)).toBe("All at once")
      expect(chunks.at(-1)).toEqual({ type: "end", finishReason: "stop", usage: null })
    })
  )
})

describe("a mock by others", () => {
  const versions = { anthropic: "/v1", google: "/v1beta" } as const
  it.scopedLive.each([["anthropic", anthropicWire.model] as const, ["google", googleWire.model] as const])(
    "speaks with the wire to %s",
    ([name, model]) =>
      Effect.gen(function* () {
        const server = yield* mockByOthers
        const usage = { input_tokens: 9, output_tokens: 4, prompt_tokens: 9, completion_tokens: 4 }
        server.onMessage("Hello", { content: "Hi from the mock, in more than one piece", usage }, { chunkSize: 5 })
        const provider = yield* connect(name, { baseUrl: `${server.url}${versions[name]}` })
        const chunks = yield* chat(provider, model)
        expect(textOf(chunks)).toBe("Hi from the mock, in more than one piece")
        expect(chunks.length).toBeGreaterThan(3)
        expect(chunks.at(-1)).toEqual({
          type: "end",
          finishReason: "stop",
          usage: { promptTokens: 9, completionTokens: 4, totalTokens: 13 }
        })
        server.nextRequestError(429, { message: "Rate limited", type: "rate_limit_error" })
        expect(yield* Effect.flip(chat(provider, model))).toMatchObject({ kind: "rate-limited" })
        server.setChaos({ malformedRate: 1 })
        expect(yield* Effect.flip(chat(provider, model))).toMatchObject({ kind: "nonsense" })
        server.setChaos({ disconnectRate: 1 })
        expect(yield* Effect.flip(chat(provider, model))).toMatchObject({ kind: "unreachable" })
      })
  )
})

describe("providers' lists of models", () => {
  it.scopedLive("tell what a key can run, as far as its price is known", () =>
    Effect.gen(function* () {
      const listed = Effect.fn(function* (wire: typeof openAiWire) {
        return yield* (yield* connect(wire.name, yield* wire.standIn)).models
      })
      const idsOf = (wire: typeof openAiWire) => Effect.map(listed(wire), (models) => models.map(({ id }) => id))
      expect(yield* idsOf(openAiWire)).toContain("openai/gpt-4o")
      expect(yield* listed(groqWire)).toMatchObject([
        { id: "groq/llama-3.3-70b-versatile", provider: "groq", inputCost: 0.59 }
      ])
      // Whatever the vendor writes behind a name.
      expect(yield* idsOf(anthropicWire)).toEqual(
        ["opus-5", "opus-4-7", "opus-4-6", "haiku-4-5", "sonnet-4", "3-haiku"].map((name) => `anthropic/claude-${name}`)
      )
      expect(yield* idsOf(googleWire)).toEqual(
        ["2.5-pro", "2.5-flash", "3.1-pro-preview", "3.5-flash"].map((name) => `google/gemini-${name}`)
      )
    })
  )

  it.scopedLive("do not make an OpenRouter key healthy that is not", () =>
    Effect.gen(function* () {
      const standIn = yield* openAiStandIn({ modelsArePublic: true, hasKeyPath: true })
      expect(yield* (yield* connect("openrouter", standIn)).healthy).toBe(true)
      const stranger = yield* connect("openrouter", { baseUrl: standIn.baseUrl, apiKey: "sk-other" })
      expect(yield* stranger.healthy).toBe(false)
    })
  )
})
