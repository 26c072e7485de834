import { assert } from "@effect/vitest"
import { Data, Effect, Fiber, Schedule, type Scope } from "effect"
import { type IncomingMessage, request as httpRequest } from "node:http"
import OpenAI from "openai"
import { memberAt } from "./MainJobSteps.ts"
import { repeatUntil } from "./BerthProcess.ts"
import { model, SharedBerth, type SharedBerthPart } from "./SharedBerth.ts"
import { assertMatches } from "../support/Matching.ts"

const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: "Hello" }]

const service = Effect.map(SharedBerth, ({ berth: { backendUrl }, ...fakes }) => ({
  ...fakes,
  backendUrl,
  client: new OpenAI({ baseURL: `${backendUrl}/v1`, apiKey: "any", maxRetries: 0 })
}))

class CallFailed extends Data.TaggedError("CallFailed")<{ readonly cause: unknown }> {}

const call = <A>(run: (signal: AbortSignal) => PromiseLike<A>) =>
  Effect.tryPromise({ try: run, catch: (cause) => new CallFailed({ cause }) })

const refusal = <A>(run: () => PromiseLike<A>) => Effect.map(Effect.flip(call(run)), ({ cause }) => cause)

/** A streamed answer over a connection that can stop reading. */
const bareStream = (url: string): Effect.Effect<IncomingMessage, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.async<IncomingMessage>((resume) => {
      const sent = httpRequest(
        `${url}/v1/chat/completions`,
        { method: "POST", headers: { "content-type": "application/json" }, agent: false },
        (response) => resume(Effect.succeed(response))
      )
      sent.on("error", () => undefined)
      sent.end(JSON.stringify({ model, messages, stream: true }))
    }),
    (response) => Effect.sync(() => response.destroy())
  )

/** Waits until a count is stable for a second and returns it. */
const settled = (count: () => number) =>
  Effect.gen(function* () {
    const before = count()
    yield* Effect.sleep("1 second")
    return before > 0 && count() === before
  }).pipe(Effect.repeat({ until: (stands) => stands }), Effect.timeout("60 seconds"), Effect.as(count))

export const openAiClients: SharedBerthPart = (it) => {
  it.effect("OpenAI's client chats with only its base URL changed", () =>
    Effect.gen(function* () {
      const { client } = yield* service
      const { data, request_id, response } = yield* call(() =>
        client.chat.completions.create({ model, messages, temperature: 0.5 }).withResponse()
      )
      assertMatches(data, {
        object: "chat.completion",
        model,
        choices: [{ message: { role: "assistant", content: "You said: Hello" }, finish_reason: "stop" }],
        usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
      })
      assert.match(request_id ?? "", /^req_/)
      assert.strictEqual(response.headers.get("x-provider"), "openai")
      assert.isAbove(Number(response.headers.get("x-berth-cost-usd")), 0)
    })
  )

  it.effect("OpenAI's client reads a stream with deltas and usage", () =>
    Effect.gen(function* () {
      const { client, openai } = yield* service
      openai.respondWith({ type: "answer", pieces: ["Grüß ", "Gott", " 🚢"] })
      const chunks = yield* call(async () => {
        const seen: Array<OpenAI.ChatCompletionChunk> = []
        const stream = await client.chat.completions.create({
          model,
          messages,
          stream: true,
          stream_options: { include_usage: true }
        })
        for await (const chunk of stream) seen.push(chunk)
        return seen
      })
      const deltas = chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? ""))
      assert.deepStrictEqual(
        deltas.filter((text) => text !== ""),
        ["Grüß ", "Gott", " 🚢"]
      )
      assertMatches(chunks.at(-1), { choices: [], usage: { completion_tokens: 3 } })
      assert.strictEqual(new Set(chunks.map(({ id }) => id)).size, 1)
    })
  )

  for (const streams of [false, true])
    it.effect(
      `OpenAI's client runs tools for every vendor's models${streams ? " in a stream" : ""} and returns their results`,
      () =>
        Effect.gen(function* () {
          const { anthropic, client, google, openai } = yield* service
          const vendors = [
            [openai, model],
            [anthropic, "anthropic/claude-opus-4-6"],
            [google, "google/gemini-2.5-flash"]
          ] as const
          for (const [vendor, id] of vendors) {
            vendor.respondWith({
              type: "answer",
              pieces: [],
              calls: [{ id: "call_1", name: "weather", arguments: '{"city":"Graz"}' }]
            })
            const requests: Array<unknown> = []
            const params = {
              model: id,
              messages,
              tools: [
                {
                  type: "function" as const,
                  function: {
                    name: "weather",
                    description: "The weather in a city",
                    parameters: { type: "object", properties: { city: { type: "string" } } },
                    parse: (text: string): unknown => JSON.parse(text),
                    function: (input: unknown) => {
                      requests.push(input)
                      return "Rain in Graz"
                    }
                  }
                }
              ]
            }
            const { completions } = client.chat
            const runner = streams ? completions.runTools({ ...params, stream: true }) : completions.runTools(params)
            const content = yield* call(() => runner.finalContent())
            assert.deepStrictEqual([id, requests], [id, [{ city: "Graz" }]])
            assert.include(content, "Rain in Graz", id)
          }
        })
    )

  it.effect("OpenAI's client sends images to every vendor's models", () =>
    Effect.gen(function* () {
      const { anthropic, client, google, openai } = yield* service
      const seen: Array<OpenAI.ChatCompletionMessageParam> = [
        {
          role: "user",
          content: [
            { type: "text", text: "What is this?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
            { type: "image_url", image_url: { url: "https://example.com/cat.png" } }
          ]
        }
      ]
      for (const id of [model, "anthropic/claude-opus-4-6", "google/gemini-2.5-flash"]) {
        const answer = yield* call(() => client.chat.completions.create({ model: id, messages: seen }))
        assert.deepStrictEqual([answer.model, answer.choices[0]?.message.content], [id, "You said: What is this?"])
      }
      for (const vendor of [openai, anthropic, google]) {
        const body = JSON.stringify(vendor.received.at(-1)?.body)
        assert.include(body, "iVBORw0KGgo=")
        assert.include(body, "https://example.com/cat.png")
      }
    })
  )

  it.effect("OpenAI's client requests JSON by a schema", () =>
    Effect.gen(function* () {
      const { client, openai } = yield* service
      openai.respondWith({ type: "answer", pieces: ['{"name":', '"Ada"}'] })
      const schema = { type: "object", properties: { name: { type: "string" } } }
      const answer = yield* call(() =>
        client.chat.completions.create({
          model,
          messages,
          response_format: { type: "json_schema", json_schema: { name: "person", schema, strict: true } }
        })
      )
      assert.deepStrictEqual(JSON.parse(answer.choices[0]?.message.content ?? ""), { name: "Ada" })
      assert.deepStrictEqual(memberAt(openai.received.at(-1)?.body, "response_format"), {
        type: "json_schema",
        json_schema: { name: "person", schema, strict: true }
      })
    })
  )

  it.effect("OpenAI's client lists models, and retrieves one", () =>
    Effect.gen(function* () {
      const { client } = yield* service
      const list = yield* call(() => client.models.list())
      const ids = list.data.map(({ id }) => id)
      assert.includeMembers(ids, [model, "anthropic/claude-opus-4-6", "google/gemini-2.5-flash"])
      assertMatches(yield* call(() => client.models.retrieve(model)), { id: model, owned_by: "openai" })
    })
  )

  it.effect("OpenAI's client maps every error to its class", () =>
    Effect.gen(function* () {
      const { client, openai } = yield* service
      const ask = (changes: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming> = {}) =>
        refusal(() => client.chat.completions.create({ model, messages, ...changes }))
      const unknown = yield* ask({ model: "nobody/nothing" })
      assert.instanceOf(unknown, OpenAI.NotFoundError)
      assertMatches(unknown, { code: "model_not_found", param: "model", type: "invalid_request_error" })
      assert.instanceOf(yield* refusal(() => client.models.retrieve("nobody/nothing")), OpenAI.NotFoundError)
      const several = yield* ask({ n: 2 })
      assert.instanceOf(several, OpenAI.BadRequestError)
      assertMatches(several, { code: "unsupported_parameter", param: "n" })
      assert.instanceOf(yield* ask({ messages: [] }), OpenAI.BadRequestError)
      const elsewhere = yield* refusal(() => client.embeddings.create({ model, input: "Hello" }))
      assert.instanceOf(elsewhere, OpenAI.NotFoundError)

      // An interruption is reported in the stream.
      openai.respondWith({ type: "break-off", pieces: ["Half "], by: "cutting" })
      const texts: Array<string> = []
      const broken = yield* refusal(async () => {
        const stream = await client.chat.completions.create({ model, messages, stream: true })
        for await (const { choices } of stream) texts.push(choices[0]?.delta.content ?? "")
      })
      assert.instanceOf(broken, OpenAI.APIError)
      assert.strictEqual(texts.join(""), "Half ")
    })
  )

  it.effect("A client that leaves ends the vendor's answer, streamed or not", () =>
    Effect.gen(function* () {
      const { client, openai } = yield* service
      const before = openai.abandonedRequests()
      openai.respondWith({ type: "endless" })
      yield* call(async () => {
        const stream = await client.chat.completions.create({ model, messages, stream: true })
        for await (const _ of stream) break
      })
      yield* repeatUntil(Effect.sync(() => openai.abandonedRequests() === before + 1))

      openai.respondWith({ type: "hang" })
      const controller = new AbortController()
      const requested = openai.received.length
      const waiting = client.chat.completions.create({ model, messages }, { signal: controller.signal })
      const failed = yield* Effect.fork(refusal(() => waiting))
      yield* repeatUntil(Effect.sync(() => openai.received.length > requested))
      controller.abort()
      assert.instanceOf(yield* Fiber.join(failed), OpenAI.APIUserAbortError)
      yield* repeatUntil(Effect.sync(() => openai.abandonedRequests() === before + 2))
    })
  )

  it.effect("A client that stops reading pauses the vendor, and continues where it stopped", () =>
    Effect.gen(function* () {
      const { backendUrl, openai } = yield* service
      const before = openai.streamedBytes()
      const left = openai.abandonedRequests()
      openai.respondWith({ type: "endless" })
      yield* Effect.scoped(
        Effect.gen(function* () {
          const response = yield* bareStream(backendUrl)
          const held = yield* settled(() => openai.streamedBytes() - before)
          const stopped = held()
          // Buffers of sockets and streams, far below the volume of a client that reads.
          assert.isBelow(stopped, 64 * 1024 * 1024)
          response.resume()
          yield* Effect.sync(() => held() > stopped).pipe(
            Effect.repeat({ until: (more) => more, schedule: Schedule.spaced("20 millis") }),
            Effect.timeout("60 seconds")
          )
        })
      )
      yield* repeatUntil(Effect.sync(() => openai.abandonedRequests() === left + 1))
    })
  )
}
