import type { ApiKeyScope } from "@berth/domain/sessions/ApiKeyScope"
import { Units } from "@berth/domain/shared/Money"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { digestPrincipal } from "@berth/infra/postgres/limits/PostgresIdempotencyKeys"
import { assert, layer } from "@effect/vitest"
import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { SpeechTest } from "@berth/infra/backend/SpeechTest"
import { Array, Data, Deferred, Effect, Fiber, Metric, MetricState, Schema, Stream } from "effect"
import OpenAI from "openai"
import { eventually } from "../support/Eventually.ts"
import { assertMatches } from "../support/Matching.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { createApiKey } from "./ApiKeyFixtures.ts"
import { readUsedUnits, textAnswer } from "./GatewayPayments.ts"
import { createOwnerWithAgent, exhaustUnits } from "./OwnerFixtures.ts"

const model = "openai/gpt-4"
const messages: Array<OpenAI.ChatCompletionMessageParam> = [{ role: "user", content: "hello" }]
const tool: OpenAI.ChatCompletionTool = {
  type: "function",
  function: { name: "find_weather", description: "Finds the weather", parameters: { type: "object", properties: {} } }
}

class CallFailed extends Data.TaggedError("CallFailed")<{ readonly cause: unknown }> {}
const call = <A>(run: () => PromiseLike<A>) =>
  Effect.tryPromise({ try: run, catch: (cause) => new CallFailed({ cause }) })
const refusal = <A>(run: () => PromiseLike<A>) => Effect.map(Effect.flip(call(run)), ({ cause }) => cause)

const repeats = (name: string) => ({ headers: { "idempotency-key": name } })

const clientOf = (as: App.SignedIn, ...scopes: ReadonlyArray<ApiKeyScope>) =>
  Effect.gen(function* () {
    const { webUrl } = yield* App.TestApp
    const { key } = yield* createApiKey(as, ...scopes)
    return new OpenAI({ baseURL: `${webUrl}/v1`, apiKey: key, maxRetries: 0 })
  })

const countHeldKeys = ({ user }: App.SignedIn) =>
  Effect.map(
    sql`select id from idempotency_keys where principal_hash = ${digestPrincipal(user.id)} and lease_until > now()`,
    (rows) => rows.length
  )

const withReply =
  (reply: string) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(AgentManagerTest, ({ withBehavior }) =>
      withBehavior({
        chat: () =>
          Stream.make(
            { type: "delta" as const, text: reply },
            { type: "done" as const, reply, model: "test", provider: "sandbox" as const }
          )
      })(effect)
    )

const readChunks = (client: OpenAI, body: Omit<OpenAI.ChatCompletionCreateParamsStreaming, "stream">) =>
  call(async () => {
    const chunks: Array<OpenAI.ChatCompletionChunk> = []
    for await (const chunk of await client.chat.completions.create({ ...body, stream: true })) chunks.push(chunk)
    return chunks
  })

const textOf = (chunks: ReadonlyArray<OpenAI.ChatCompletionChunk>) =>
  chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")

// The AI layer of another process: tool calls and model lists cross the internal protocol.
const EmbeddingUsage = Schema.Struct({ usage: Schema.Struct({ prompt_tokens: Schema.Int }) })

layer(App.layer({ aiLayerTransport: "remote" }), { excludeTestServices: true })("The public OpenAI protocol", (it) => {
  it.effect("The public OpenAI protocol completes by API key, plain and streamed, and charges like the gateway", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      const client = yield* clientOf(owner, "gateway")
      const answer = yield* call(() => client.chat.completions.create({ model, messages }))
      assertMatches(answer, {
        object: "chat.completion",
        model,
        choices: [{ message: { role: "assistant", content: "Good day." }, finish_reason: "stop" }],
        usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
      })
      const chunks = yield* readChunks(client, { model, messages, stream_options: { include_usage: true } })
      assert.strictEqual(textOf(chunks), "Good day.")
      assertMatches(chunks.at(-1), { choices: [], usage: { total_tokens: 10 } })
      assert.strictEqual(yield* readUsedUnits(owner), 2)
    })
  )

  it.effect("The public OpenAI protocol returns tool calls, plain and streamed", () =>
    Effect.gen(function* () {
      const client = yield* clientOf(yield* App.signInNewUser("pro"), "gateway")
      const { withBehavior } = yield* ModelProvidersTest
      const body = { model, messages, tools: [tool] }
      const [answer, chunks] = yield* withBehavior({
        chat: () =>
          Stream.make(
            { type: "tool-call" as const, call: { id: "call_1", name: "find_weather", arguments: "{}" } },
            { type: "done" as const, usage: null, finishReason: "tool_calls" }
          )
      })(Effect.all([call(() => client.chat.completions.create(body)), readChunks(client, body)]))
      const made = { id: "call_1", type: "function", function: { name: "find_weather", arguments: "{}" } }
      assertMatches(answer.choices[0], {
        finish_reason: "tool_calls",
        message: { content: null, tool_calls: [made] }
      })
      const calls = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])
      assertMatches(calls, [{ index: 0, ...made }])
    })
  )

  it.effect("The public OpenAI protocol sends messages to the caller's agents as agent/<id>", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const client = yield* clientOf(owner, "gateway", "chat")
      const agent = `agent/${owner.agent.id}`
      const { data, response } = yield* withReply("I am here.")(
        call(() => client.chat.completions.create({ model: agent, messages }).withResponse())
      )
      assertMatches(data, { model: agent, choices: [{ message: { content: "I am here." }, finish_reason: "stop" }] })
      assert.strictEqual(data.usage, undefined)
      const session = response.headers.get("x-session-id") ?? ""
      assert.strictEqual(session, owner.conversation)
      const withUsage = { model: agent, messages, stream_options: { include_usage: true } }
      const chunks = yield* withReply("Again.")(readChunks(client, withUsage))
      assert.strictEqual(textOf(chunks), "Again.")
      assert.isTrue(chunks.every(({ choices, usage }) => choices.length === 1 && usage === null))
      assert.strictEqual(yield* readUsedUnits(owner), 2)
      const { body } = yield* App.web({ method: "GET", path: `/api/agents/${owner.agent.id}/messages`, as: owner })
      assert.lengthOf(Object(body["messages"]), 4)

      const refused = (body: object, options: OpenAI.RequestOptions = {}) =>
        refusal(() => client.chat.completions.create({ model: agent, messages, ...body }, options))
      for (const [body, options, expected] of [
        [{ model: `agent/${stranger.agent.id}` }, {}, { status: 404, code: "agent_not_found" }],
        [{}, { headers: { "x-session-id": stranger.conversation } }, { status: 404, code: "chat_session_not_found" }],
        [{ tools: [tool] }, {}, { status: 400, code: "unsupported_parameter", param: "tools" }],
        [{ messages: [{ role: "assistant", content: "No." }] }, {}, { status: 400, code: "message_invalid" }]
      ] as const)
        assertMatches(yield* refused(body, options), expected)
      assert.strictEqual(yield* readUsedUnits(owner), 2)
    })
  )

  it.effect("The public OpenAI protocol lists the models and the caller's agents, and finds each", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const client = yield* clientOf(owner, "gateway", "chat")
      const { data } = yield* call(() => client.models.list())
      const ids = data.map(({ id }) => id)
      assert.includeMembers(ids, [model, `agent/${owner.agent.id}`])
      assert.notInclude(ids, `agent/${stranger.agent.id}`)
      const created = Math.floor(owner.agent.createdAt.epochMillis / 1000)
      assertMatches(yield* call(() => client.models.retrieve(`agent/${owner.agent.id}`)), {
        created,
        owned_by: "agent"
      })
      assert.isAbove(created, 0)
      assert.strictEqual((yield* call(() => client.models.retrieve(model))).id, model)
      assertMatches(yield* refusal(() => client.models.retrieve(`agent/${stranger.agent.id}`)), {
        status: 404,
        code: "model_not_found"
      })
    })
  )

  it.effect("The public OpenAI protocol hides the conversations of agents from API keys without the scope chat", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const client = yield* clientOf(owner, "gateway")
      const agent = `agent/${owner.agent.id}`
      assertMatches(yield* refusal(() => client.chat.completions.create({ model: agent, messages })), {
        status: 403,
        code: "scope_missing"
      })
      const { data } = yield* call(() => client.models.list())
      assert.notInclude(
        data.map(({ id }) => id),
        agent
      )
      assert.strictEqual(yield* readUsedUnits(owner), 0)
    })
  )

  it.effect("The public OpenAI protocol synthesizes and transcribes speech at the gateway's prices", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      const client = yield* clientOf(owner, "gateway")
      const speech = yield* call(() => client.audio.speech.create({ model: "tts-1", voice: "alloy", input: "Hello" }))
      assert.match(speech.headers.get("content-type") ?? "", /^audio\//)
      assert.isAbove((yield* call(() => speech.arrayBuffer())).byteLength, 0)
      assert.strictEqual(yield* readUsedUnits(owner), 3)
      const file = yield* call(() => OpenAI.toFile(Buffer.from("SUQzBwcH", "base64"), "a.mp3"))
      const transcription = yield* call(() => client.audio.transcriptions.create({ model: "whisper-1", file }))
      assert.deepStrictEqual(transcription, { text: "6 bytes" })
      assert.strictEqual(yield* readUsedUnits(owner), 5)
      const text: unknown = yield* call(() =>
        client.audio.transcriptions.create({ model: "whisper-1", file, response_format: "text" })
      )
      assert.strictEqual(text, "6 bytes\n")
      assert.strictEqual(yield* readUsedUnits(owner), 7)
    })
  )

  it.effect(
    "The public OpenAI protocol refuses options of transcriptions and speech that it does not have, and charges none",
    () =>
      Effect.gen(function* () {
        const owner = yield* App.signInNewUser("pro")
        const client = yield* clientOf(owner, "gateway")
        const file = yield* call(() => OpenAI.toFile(Buffer.from("SUQzBwcH", "base64"), "a.mp3"))
        const body = { model: "whisper-1", file }
        const tries = [
          [() => client.audio.transcriptions.create({ ...body, response_format: "srt" }), "response_format"],
          [() => client.audio.transcriptions.create({ ...body, response_format: "vtt" }), "response_format"],
          [() => client.audio.transcriptions.create({ ...body, response_format: "verbose_json" }), "response_format"],
          [() => client.audio.transcriptions.create({ ...body, stream: true }), "stream"],
          [() => client.audio.transcriptions.create({ ...body, include: ["logprobs"] }), "include"],
          [() => client.audio.transcriptions.create({ ...body, temperature: 0.5 }), "temperature"]
        ] as const
        for (const [run, param] of tries)
          assertMatches(yield* refusal<unknown>(run), { status: 400, code: "unsupported_parameter", param })
        const speech = { model: "tts-1", voice: "alloy", input: "Hello", stream_format: "sse" } as const
        assertMatches(yield* refusal(() => client.audio.speech.create(speech)), { status: 400, param: "stream_format" })
        assert.strictEqual(yield* readUsedUnits(owner), 0)
      })
  )

  it.effect("The public OpenAI protocol ignores fields of transcriptions with the names of object members", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      const client = yield* clientOf(owner, "gateway")
      const file = yield* call(() => OpenAI.toFile(Buffer.from("SUQzBwcH", "base64"), "a.mp3"))
      for (const name of ["constructor", "__proto__", "toString[]"]) {
        const body = { model: "whisper-1", file, ...Object.fromEntries([[name, "x"]]) }
        assert.deepStrictEqual(yield* call(() => client.audio.transcriptions.create(body)), { text: "6 bytes" })
      }
    })
  )

  it.effect("The public OpenAI protocol refuses an image for a model without image input, and charges nothing", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      const client = yield* clientOf(owner, "gateway")
      const url = "https://example.com/cat.png"
      const image = { role: "user" as const, content: [{ type: "image_url" as const, image_url: { url } }] }
      const part = { type: "input_image" as const, image_url: url, detail: "auto" as const }
      const expected = { status: 400, code: "images_not_supported", type: "invalid_request_error" }
      for (const stream of [false, true]) {
        const completed = client.chat.completions.create({ model, messages: [image], stream })
        assertMatches(yield* refusal(() => completed), expected)
        const responded = client.responses.create({ model, input: [{ role: "user", content: [part] }], stream })
        assertMatches(yield* refusal(() => responded), expected)
      }
      assert.strictEqual(yield* readUsedUnits(owner), 0)
    })
  )

  it.effect("The public OpenAI protocol runs a call once per key, concurrently and later, streamed or not", () =>
    Effect.gen(function* () {
      const stranger = yield* App.signInNewUser("pro")
      const tries = [
        ["/v1/chat/completions", { model, messages }, { max_tokens: 5 }, 1],
        ["/v1/chat/completions", { model, messages, stream: true }, { stream: false }, 1],
        ["/v1/responses", { model, input: "hello" }, { input: "bye" }, 1],
        ["/v1/responses", { model, input: "hello", stream: true }, { input: "bye" }, 1],
        ["/v1/embeddings", { model: "text-embedding-3-small", input: "one" }, { input: "two" }, 1],
        ["/v1/audio/speech", { model: "tts-1", voice: "alloy", input: "Hello" }, { input: "Bye" }, 3]
      ] as const
      for (const [path, json, change, units] of tries) {
        const owner = yield* App.signInNewUser("pro")
        const post = (as: App.SignedIn, body: object) =>
          App.web({ method: "POST", path, as, json: body, headers: { "idempotency-key": "once" } })
        const answers = yield* Effect.all(
          Array.makeBy(4, () => post(owner, json)),
          { concurrency: "unbounded" }
        )
        const later = yield* post(owner, json)
        for (const { status, text } of [...answers, later]) assert.deepStrictEqual([status, text], [200, later.text])
        assert.isAbove(later.text.length, 0)
        assert.strictEqual(later.headers["idempotent-replayed"], "true", path)
        assert.lengthOf(new Set(answers.map(({ headers }) => headers["content-type"])), 1, path)
        const other = yield* post(owner, { ...json, ...change })
        assertMatches([other.status, other.body], [422, { error: { code: "idempotency_key_reused" } }])
        assert.strictEqual(yield* readUsedUnits(owner), Units(units), path)
        assert.notProperty((yield* post(stranger, json)).headers, "idempotent-replayed")
      }
    })
  )

  it.effect("The public OpenAI protocol counts and measures embeddings in the metrics of models", () =>
    Effect.gen(function* () {
      const name = "openai/text-embedding-3-small"
      const sum = (metric: string, ...labels: ReadonlyArray<string>) =>
        Metric.unsafeSnapshot()
          .filter(
            ({ metricKey: { name: found, tags } }) =>
              found === metric && [name, ...labels].every((label) => tags.some(({ value }) => value === label))
          )
          .reduce(
            (total, { metricState: state }) =>
              MetricState.isCounterState(state) || MetricState.isHistogramState(state)
                ? total + Number(state.count)
                : total,
            0
          )
      const read = () => [
        sum("berth_model_calls_total"),
        sum("berth_model_tokens_total"),
        sum("berth_model_call_seconds", "embeddings")
      ]
      const [calls = 0, tokens = 0, measured = 0] = read()
      const as = yield* App.signInNewUser("pro")
      const json = { model: name, input: "one" }
      const { body, status } = yield* App.web({ method: "POST", path: "/v1/embeddings", as, json })
      assert.strictEqual(status, 200)
      const { usage } = Schema.decodeUnknownSync(EmbeddingUsage)(body)
      assert.deepStrictEqual(read(), [calls + 1, tokens + usage.prompt_tokens, measured + 1])
    })
  )

  it.effect("The public OpenAI protocol repeats binary audio and forms of any boundary under a key", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      const client = yield* clientOf(owner, "gateway")
      const audio = Uint8Array.from([0x49, 0x44, 0x33, 0xff, 0x00, 0xfe])
      const answer = { ownKey: false, answeredBy: { model: "sandbox/speech", provider: "sandbox" as const } }
      const { withBehavior } = yield* SpeechTest
      const speak = call(() =>
        client.audio.speech.create({ model: "tts-1", voice: "alloy", input: "Hello" }, repeats("spoken"))
      )
      const speech = yield* withBehavior({
        synthesize: () => Effect.succeed({ audio, contentType: "audio/mpeg", ...answer })
      })(Effect.all([speak, speak]))
      for (const response of speech) {
        assert.strictEqual(response.headers.get("content-type"), "audio/mpeg")
        assert.deepStrictEqual(new Uint8Array(yield* call(() => response.arrayBuffer())), audio)
      }
      const transcribe = (bytes: Uint8Array) =>
        call(async () => {
          const file = await OpenAI.toFile(bytes, "a.mp3")
          return client.audio.transcriptions.create({ model: "whisper-1", file }, repeats("heard"))
        })
      assert.deepStrictEqual(yield* transcribe(audio), yield* transcribe(audio))
      // Another invalid UTF-8 byte.
      const changed = audio.map((byte) => (byte === 0xff ? 0xfd : byte))
      assertMatches(yield* Effect.flip(transcribe(changed)), { cause: { status: 422, code: "idempotency_key_reused" } })
      assert.strictEqual(yield* readUsedUnits(owner), 5)
    })
  )

  it.effect("The public OpenAI protocol sends an agent's message once per key, plain and streamed", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      for (const stream of [false, true]) {
        const json = { model: `agent/${owner.agent.id}`, messages, stream }
        const send = App.web({ method: "POST", path: "/v1/chat/completions", as: owner, json, ...repeats(`${stream}`) })
        const [first, second] = yield* withReply("I am here.")(Effect.all([send, send], { concurrency: 2 }))
        assert.strictEqual(first.status, 200, first.text)
        assert.strictEqual(first.text, second.text)
        assert.strictEqual(second.headers["x-session-id"], owner.conversation)
        assert.strictEqual(second.headers["content-type"], first.headers["content-type"])
        const { headers } = repeats(`${stream}`)
        const elsewhere = { ...headers, "x-session-id": owner.conversation }
        const other = yield* App.web({
          method: "POST",
          path: "/v1/chat/completions",
          as: owner,
          json,
          headers: elsewhere
        })
        assert.strictEqual(other.status, 422, other.text)
      }
      assert.strictEqual(yield* readUsedUnits(owner), 2)
    })
  )

  it.effect("The public OpenAI protocol sends an agent's message once per key when the first client leaves", () =>
    Effect.gen(function* () {
      const { withBehavior } = yield* AgentManagerTest
      for (const stream of [false, true]) {
        const owner = yield* createOwnerWithAgent()
        const [begun, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const reply = { type: "done" as const, reply: "Done.", model: "test", provider: "sandbox" as const }
        const chat = () =>
          Stream.unwrap(Effect.as(Deferred.succeed(begun, undefined), Stream.fromEffect(Effect.as(go, reply))))
        const json = { model: `agent/${owner.agent.id}`, messages, stream }
        const send = App.web({ method: "POST", path: "/v1/chat/completions", as: owner, json, ...repeats("left") })
        const answer = yield* withBehavior({ chat })(
          Effect.gen(function* () {
            const left = yield* Effect.fork(send)
            yield* begun
            yield* Fiber.interrupt(left)
            if (stream) yield* eventually(countHeldKeys(owner), (count) => count === 0)
            const repeated = yield* Effect.fork(send)
            yield* Deferred.succeed(go, undefined)
            return yield* Fiber.join(repeated)
          })
        )
        assert.strictEqual(answer.status, 200, answer.text)
        assert.include(answer.text, "Done.")
        assert.strictEqual(answer.headers["x-session-id"], owner.conversation)
        const later = yield* send
        assert.deepStrictEqual([later.text, later.headers["idempotent-replayed"]], [answer.text, "true"])
        assert.strictEqual(yield* readUsedUnits(owner), 1)
      }
    })
  )

  it.effect("The public OpenAI protocol runs a call under a key to its end, once, when its client leaves", () =>
    Effect.gen(function* () {
      const providers = yield* ModelProvidersTest
      const speech = yield* SpeechTest
      const form = new FormData()
      form.set("model", "whisper-1")
      form.set("file", new File([Uint8Array.from([0x49, 0x44, 0x33, 0])], "a.mp3"))
      const request = new Response(form)
      const recording = new Uint8Array(yield* call(() => request.arrayBuffer()))
      const type = request.headers.get("content-type") ?? ""
      const spoken = { answeredBy: { model: "sandbox/speech", provider: "sandbox" as const }, ownKey: false }
      const tries: ReadonlyArray<readonly [path: string, json: object | undefined, units: number]> = [
        ["/v1/chat/completions", { model, messages }, 1],
        ["/v1/responses", { model, input: "hello" }, 1],
        ["/v1/embeddings", { model: "text-embedding-3-small", input: "one" }, 1],
        ["/v1/audio/speech", { model: "tts-1", voice: "alloy", input: "Hello" }, 3],
        ["/v1/audio/transcriptions", undefined, 2],
        ["/api/v1/gateway", { messages }, 1],
        ["/api/v1/gateway", { plugin: "tts", text: "Hello" }, 3]
      ]
      for (const [path, json, units] of tries) {
        const owner = yield* App.signInNewUser("pro")
        const [begun, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        let calls = 0
        const wait = Effect.sync(() => (calls += 1)).pipe(
          Effect.zipRight(Deferred.succeed(begun, undefined)),
          Effect.zipRight(go)
        )
        const send = App.web({
          method: "POST",
          path,
          as: owner,
          ...(json === undefined
            ? { body: recording, headers: { ...repeats("left").headers, "content-type": type } }
            : { json, ...repeats("left") })
        })
        const repeated = yield* Effect.gen(function* () {
          const left = yield* Effect.fork(send)
          yield* begun
          yield* Fiber.interrupt(left)
          // The listener has read the end of the first connection before that of later ones.
          yield* Effect.replicateEffect(App.web({ method: "GET", path: "/health/live" }), 5)
          const second = yield* Effect.fork(send)
          yield* Effect.replicateEffect(App.web({ method: "GET", path: "/health/live" }), 5)
          yield* Deferred.succeed(go, undefined)
          return yield* Fiber.join(second)
        }).pipe(
          providers.withBehavior({
            chat: () => Stream.unwrap(Effect.as(wait, textAnswer("Done."))),
            embed: () => Effect.as(wait, { vectors: ["AACAPw=="], tokens: 7 })
          }),
          speech.withBehavior({
            synthesize: () =>
              Effect.as(wait, { audio: Uint8Array.of(0x49, 0x44, 0x33), contentType: "audio/mpeg", ...spoken }),
            transcribe: () => Effect.as(wait, { text: "Hello", ...spoken })
          })
        )
        assert.deepStrictEqual(
          [repeated.status, repeated.headers["idempotent-replayed"], calls],
          [200, "true", 1],
          `${path} ${repeated.text}`
        )
        assert.strictEqual(yield* readUsedUnits(owner), Units(units), path)
      }
    })
  )

  it.effect("The public OpenAI protocol repeats an agent's answer under a key only to the scopes that it was for", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const ask = (client: OpenAI) =>
        call(() => client.chat.completions.create({ model: `agent/${owner.agent.id}`, messages }, repeats("scoped")))
      const [first, same] = [yield* clientOf(owner, "chat", "gateway"), yield* clientOf(owner, "gateway", "chat")]
      const answer = yield* withReply("A secret.")(ask(first))
      assert.deepStrictEqual(yield* ask(same), answer)
      assertMatches(yield* Effect.flip(ask(yield* clientOf(owner, "gateway"))), {
        cause: { status: 422, code: "idempotency_key_reused" }
      })
      assert.strictEqual(yield* readUsedUnits(owner), 1)
    })
  )

  it.effect("The public OpenAI protocol leaves a key free after a failure and a stream that breaks off", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      const { withBehavior } = yield* ModelProvidersTest
      const failure = new ProviderFailed({ provider: "openai", kind: "overloaded", reason: "it broke" })
      const broken = withBehavior({
        chat: () => Stream.concat(Stream.make({ type: "delta" as const, text: "Half " }), Stream.fail(failure))
      })
      for (const [path, body] of [
        ["/v1/chat/completions", { messages }],
        ["/v1/responses", { input: "hello" }]
      ] as const)
        for (const stream of [true, false]) {
          const json = { model, ...body, stream }
          const send = App.web({ method: "POST", path, as: owner, json, ...repeats(`${path} ${stream}`) })
          const failed = yield* broken(send)
          if (stream) assert.include(failed.text, `"error"`)
          else assert.isAtLeast(failed.status, 500)
          const answer = yield* send
          assert.strictEqual(answer.status, 200, answer.text)
          assert.notProperty(answer.headers, "idempotent-replayed")
          assert.include(answer.text, "day.")
        }
    })
  )

  it.effect("The public OpenAI protocol reports errors in its own shape", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("starter")
      const client = yield* clientOf(owner, "gateway")
      const unscoped = yield* clientOf(owner, "chat")
      const { webUrl } = yield* App.TestApp
      const unknown = new OpenAI({ baseURL: `${webUrl}/v1`, apiKey: "berth_unknown", maxRetries: 0 })
      const refused = (by: OpenAI, body: object = {}) =>
        refusal(() => by.chat.completions.create({ model, messages, ...body }))
      assertMatches(yield* refused(client, { model: "openai/none" }), { status: 404, code: "model_not_found" })
      assertMatches(yield* refused(client, { n: 2 }), { status: 400, code: "unsupported_parameter", param: "n" })
      assertMatches(yield* refused(client, { temperature: 9 }), { status: 400, param: "temperature" })
      assertMatches(yield* refused(unscoped), { status: 403, code: "scope_missing" })
      assertMatches(yield* refused(unknown), { status: 401, code: "invalid_api_key" })
      for (const key of ["k".repeat(256), "a\tb"])
        assertMatches(
          yield* refusal(() => client.chat.completions.create({ model, messages }, repeats(key))),
          { status: 400, code: "idempotency_key_invalid" },
          key
        )
      yield* exhaustUnits(owner)
      assertMatches(yield* refused(client), { status: 402, code: "payment_required" })
    })
  )
})

layer(App.shared, { excludeTestServices: true })("Calls of the public OpenAI protocol", (it) => {
  it.effect("Calls of the public OpenAI protocol are limited to a hundred a minute, invalid bodies included", () =>
    Effect.gen(function* () {
      for (const path of ["/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/audio/speech"]) {
        const as = yield* App.signInNewUser("pro")
        const post = (body: string, contentType = "application/json") =>
          App.web({ method: "POST", path, as, body, headers: { "content-type": contentType } })
        for (const [body, contentType, status] of [
          ["{bad", "application/json", 400],
          ["{}", "text/plain", 415]
        ] as const) {
          const refused = yield* post(body, contentType)
          assert.strictEqual(refused.status, status, refused.text)
          assertMatches(refused.body["error"], { type: "invalid_request_error" })
        }
        const answers = yield* Effect.all(
          Array.makeBy(101, () => post("{}")),
          { concurrency: 20 }
        )
        const counted = (status: number) => answers.filter((answer) => answer.status === status)
        assert.deepStrictEqual([counted(400).length, counted(429).length], [98, 3], path)
        assert.isAtLeast(Number(counted(429)[0]?.headers["retry-after"]), 1)
        assertMatches(counted(429)[0]?.body["error"], { code: "rate_limit_exceeded" })
        assert.strictEqual((yield* post(JSON.stringify({ model, messages, input: "hello" }))).status, 429, path)
      }
    })
  )
})
