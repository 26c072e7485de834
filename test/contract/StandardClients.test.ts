import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { runCommand } from "@berth/cli/Commands"
import { type StoredAccess, Terminal } from "@berth/cli/Terminal"
import { makeClient, streamReply } from "@berth/client"
import { AgentNotFound } from "@berth/domain/agents/AgentErrors"
import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { AgentId } from "@berth/domain/shared/AgentId"
import type { ApiKeyScope } from "@berth/domain/sessions/ApiKeyScope"
import { AgentRunRepository } from "@berth/domain/schedules/runs/AgentRunRepository"
import { AgentRunId } from "@berth/domain/schedules/runs/AgentRun"
import { makeRunTurnId } from "@berth/domain/schedules/runs/AgentRuns"
import { AttachmentId } from "@berth/domain/interaction/attachments/Attachment"
import { AttachmentRepository } from "@berth/domain/interaction/attachments/AttachmentRepository"
import { AgentManagerTest } from "@berth/infra/backend/AgentManagerTest"
import { ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import { assert, layer } from "@effect/vitest"
import { HumanMessage } from "@langchain/core/messages"
import { ChatOpenAI, OpenAIEmbeddings } from "@langchain/openai"
import { embedMany, generateText, jsonSchema, type LanguageModel, stepCountIs, streamText, tool } from "ai"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { Data, Deferred, Effect, Fiber, Option, Redacted, Ref, Schedule, Schema, Stream } from "effect"
import { EventSource } from "eventsource"
import OpenAI from "openai"
import { eventually } from "../support/Eventually.ts"
import { assertMatches } from "../support/Matching.ts"
import { png, uniqueName } from "../support/Samples.ts"
import { connectSocket } from "../support/SocketClient.ts"
import { sql } from "../support/Sql.ts"
import * as App from "../support/TestApp.ts"
import { countStored, receivedTurns, withVision } from "./AttachmentFixtures.ts"
import { createApiKey } from "./ApiKeyFixtures.ts"
import { readUsedUnits } from "./GatewayPayments.ts"
import { createOwnerWithAgent, exhaustUnits, type OwnerWithAgent } from "./OwnerFixtures.ts"
import { leaveUnits } from "./TurnFixtures.ts"

const model = "openai/gpt-4"
const input = "hello"

class CallFailed extends Data.TaggedError("CallFailed")<{ readonly cause: unknown }> {}
const call = <A>(run: () => PromiseLike<A>) =>
  Effect.tryPromise({ try: run, catch: (cause) => new CallFailed({ cause }) })
const refusal = <A>(run: () => PromiseLike<A>) => Effect.map(Effect.flip(call(run)), ({ cause }) => cause)

const accessOf = (as: App.SignedIn, ...scopes: ReadonlyArray<ApiKeyScope>) =>
  Effect.gen(function* () {
    const { webUrl } = yield* App.TestApp
    const { key } = yield* createApiKey(as, ...scopes)
    return { webUrl, baseURL: `${webUrl}/v1`, apiKey: key }
  })
const openAiOf = (as: App.SignedIn, ...scopes: ReadonlyArray<ApiKeyScope>) =>
  Effect.map(accessOf(as, ...scopes), (access) => new OpenAI({ ...access, maxRetries: 0 }))

const usage = { promptTokens: 7, completionTokens: 3, totalTokens: 10 }

/** Functions that send a text and an image in each protocol and return the answer's text. */
const imageSenders = (
  access: Effect.Effect.Success<ReturnType<typeof accessOf>>,
  model: string
): ReadonlyArray<readonly [string, () => Promise<string | null | undefined>]> => {
  const client = new OpenAI({ ...access, maxRetries: 0 })
  const url = `data:image/png;base64,${png.toString("base64")}`
  const content = [
    { type: "text" as const, text: input },
    { type: "image" as const, image: png }
  ]
  const generate = (languageModel: LanguageModel) => async () =>
    (await generateText({ model: languageModel, maxRetries: 0, messages: [{ role: "user", content }] })).text
  return [
    [
      "openai, streamed completions",
      async () => {
        const stream = client.chat.completions.stream({
          model,
          messages: [
            {
              role: "user",
              content: [
                { type: "text", text: input },
                { type: "image_url", image_url: { url } }
              ]
            }
          ]
        })
        return stream.finalContent()
      }
    ],
    [
      "openai, responses",
      async () => {
        const response = await client.responses.create({
          model,
          input: [
            {
              role: "user",
              content: [
                { type: "input_text", text: input },
                { type: "input_image", image_url: url, detail: "auto" }
              ]
            }
          ]
        })
        return response.output_text
      }
    ],
    ["@ai-sdk/openai", generate(createOpenAI(access)(model))],
    ["@ai-sdk/openai-compatible", generate(createOpenAICompatible({ ...access, name: "berth" })(model))]
  ]
}

/** The model calls `find_weather` until it has the result, then repeats the result. */
const withWeatherTool = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(ModelProvidersTest, ({ withBehavior }) =>
    withBehavior({
      chat: (_, messages) => {
        const last = messages.at(-1)
        return last?.role === "tool"
          ? Stream.make(
              { type: "delta" as const, text: `Weather: ${last.content}` },
              { type: "done" as const, usage, finishReason: "stop" }
            )
          : Stream.make(
              { type: "delta" as const, text: "One moment." },
              {
                type: "tool-call" as const,
                call: { id: "call_1", name: "find_weather", arguments: '{"city":"Graz"}' }
              },
              { type: "done" as const, usage, finishReason: "tool_calls" }
            )
      }
    })(effect)
  )

/** The messages of the last model call, without those of the agent or gateway. */
const readLastCall = Effect.flatMap(ModelProvidersTest, ({ calls }) =>
  Effect.map(calls, (all) => all.at(-1)?.messages.map(({ content, role }) => ({ role, content })) ?? [])
)

/** A terminal with the given input lines; returns the output, failures included. */
const makeTerminal = Effect.gen(function* () {
  const stored = yield* Ref.make(Option.none<StoredAccess>())
  const run = (args: ReadonlyArray<string>, ...lines: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const written: Array<string> = []
      const answers = [...lines]
      yield* Effect.provideService(runCommand(args), Terminal, {
        write: (text) => Effect.sync(() => void written.push(text)),
        ask: () => Effect.sync(() => Redacted.make(answers.shift() ?? "")),
        read: Ref.get(stored),
        save: (access) => Ref.set(stored, Option.some(access))
      }).pipe(Effect.catchAll(({ message }) => Effect.sync(() => void written.push(`berth: ${message}\n`))))
      return written.join("")
    })
  return { run, store: (access: StoredAccess) => Ref.set(stored, Option.some(access)) }
})

const connectMcp = (as: App.SignedIn, ...scopes: ReadonlyArray<ApiKeyScope>) =>
  Effect.gen(function* () {
    const { apiKey, webUrl } = yield* accessOf(as, ...scopes)
    const client = new Client({ name: "test", version: "1" })
    const transport = new StreamableHTTPClientTransport(new URL("/mcp", webUrl), {
      requestInit: { headers: { authorization: `Bearer ${apiKey}` } }
    })
    yield* Effect.acquireRelease(
      call(() => client.connect(transport)),
      () => Effect.promise(() => client.close())
    )
    return client
  })

/** Sends messages of the Model Context Protocol and reads the answers. */
const askMcp = (as: App.SignedIn, messages: unknown) =>
  Effect.map(
    App.web({
      method: "POST",
      path: "/mcp",
      as,
      headers: { accept: "application/json, text/event-stream", "content-type": "application/json" },
      body: JSON.stringify(messages)
    }),
    ({ text }): ReadonlyArray<unknown> =>
      [...text.matchAll(/^data: (.+)$/gm)].map(([, data = ""]): unknown => JSON.parse(data))
  )

const RpcError = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.NullOr(Schema.Union(Schema.String, Schema.Int)),
  error: Schema.Struct({
    code: Schema.Int,
    message: Schema.String,
    data: Schema.Struct({ code: Schema.String, traceId: Schema.String })
  })
})
/** JSON-RPC 2.0, section 5: a response has no other members. */
const assertRpcError = Schema.decodeUnknownSync(RpcError, { onExcessProperty: "error" })

const nameOf = (tool: string, { agent }: OwnerWithAgent) => `${tool}_${agent.id.slice(-12)}`

const withReply = (...texts: ReadonlyArray<string>) => {
  const done = { type: "done" as const, reply: texts.join(""), model: "test", provider: "sandbox" as const }
  const deltas = texts.map((text) => ({ type: "delta" as const, text }))
  return <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(AgentManagerTest, ({ withBehavior }) =>
      withBehavior({ chat: () => Stream.fromIterable([...deltas, done]) })(effect)
    )
}

const findRunId = Schema.decodeUnknownOption(Schema.Tuple(Schema.Struct({ id: AgentRunId })))

/** Ends the first run of an agent's skill, in place of a worker. */
const finishNextRun = ({ agent }: OwnerWithAgent, result: string) =>
  Effect.gen(function* () {
    const waiting = sql`select id from agent_runs where agent_id = ${agent.id} and state = 'waiting'`
    const rows = yield* Effect.repeat(waiting, {
      until: (found) => found.length > 0,
      schedule: Schedule.spaced("10 millis")
    }).pipe(Effect.zipRight(waiting))
    const [{ id }] = yield* findRunId(rows)
    const end = { state: "succeeded" as const, reason: null, result }
    yield* (yield* AgentRunRepository).finish(id, makeRunTurnId(id), end)
  })

const parameters = { type: "object" as const, properties: { city: { type: "string" as const } }, required: ["city"] }
const responseTool = { type: "function" as const, name: "find_weather", parameters, strict: false }

layer(App.layer({ aiLayerTransport: "remote" }), { excludeTestServices: true })("Standard clients", (it) => {
  it.effect("OpenAI's client receives the cached and reasoning tokens that a provider reports", () =>
    Effect.gen(function* () {
      const client = yield* openAiOf(yield* App.signInNewUser("pro"), "gateway")
      const { withBehavior } = yield* ModelProvidersTest
      const reported = { ...usage, cachedTokens: 5, reasoningTokens: 2 }
      const messages = [{ role: "user" as const, content: input }]
      yield* withBehavior({
        chat: () =>
          Stream.make(
            { type: "delta" as const, text: "Good day." },
            { type: "done" as const, usage: reported, finishReason: "stop" }
          )
      })(
        Effect.gen(function* () {
          const details = {
            prompt_tokens_details: { cached_tokens: 5 },
            completion_tokens_details: { reasoning_tokens: 2 }
          }
          const plain = yield* call(() => client.chat.completions.create({ model, messages }))
          assertMatches(plain.usage, details)
          const streamed = yield* call(async () => {
            const options = { include_usage: true }
            const stream = await client.chat.completions.create({
              model,
              messages,
              stream: true,
              stream_options: options
            })
            let last: OpenAI.CompletionUsage | null | undefined
            for await (const chunk of stream) last = chunk.usage
            return last
          })
          assertMatches(streamed, details)
          const response = {
            usage: { input_tokens_details: { cached_tokens: 5 }, output_tokens_details: { reasoning_tokens: 2 } }
          }
          assertMatches(yield* call(() => client.responses.create({ model, input })), response)
          assertMatches(yield* call(() => client.responses.stream({ model, input }).finalResponse()), response)
          // Responses of the AI layer have exactly their fields.
          for (const stream of [false, true]) {
            const answer = yield* App.backend({ method: "POST", path: "/api/ai/chat", json: { messages, stream } })
            assert.include(answer.text, JSON.stringify(usage))
          }
        })
      )
      const unreported = yield* call(() => client.chat.completions.create({ model, messages }))
      assert.notProperty(unreported.usage, "prompt_tokens_details")
      const zero = yield* call(() => client.responses.create({ model, input }))
      assertMatches(zero, {
        usage: { input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } }
      })
    })
  )

  it.effect("OpenAI's client creates responses, plain and streamed, which charge like the gateway", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      const client = yield* openAiOf(owner, "gateway")
      const plain = yield* call(() =>
        client.responses.create({ model, input, instructions: "Be brief.", metadata: { a: "b" } })
      )
      assertMatches(plain, {
        object: "response",
        status: "completed",
        model,
        output_text: "Good day.",
        instructions: "Be brief.",
        metadata: { a: "b" },
        usage: { input_tokens: 7, output_tokens: 3, total_tokens: 10 }
      })
      assert.deepStrictEqual(yield* readLastCall, [
        { role: "system", content: "Be brief." },
        { role: "user", content: input }
      ])
      const types: Array<string> = []
      const streamed = yield* call(async () => {
        const stream = client.responses.stream({ model, input })
        for await (const event of stream) {
          assert.strictEqual(event.sequence_number, types.length)
          types.push(event.type)
        }
        return stream.finalResponse()
      })
      assertMatches(streamed.output, [{ type: "message", content: [{ text: "Good day." }] }])
      assert.deepStrictEqual(types, [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed"
      ])
      assert.strictEqual(yield* readUsedUnits(owner), 2)
    })
  )

  it.effect("OpenAI's client runs tools by responses, plain and streamed, and continues them by their id", () =>
    Effect.gen(function* () {
      const client = yield* openAiOf(yield* App.signInNewUser("pro"), "gateway")
      const body = { model, input, tools: [responseTool] }
      const [plain, streamed] = yield* withWeatherTool(
        Effect.all([
          call(() => client.responses.create(body)),
          call(() => client.responses.stream(body).finalResponse())
        ])
      )
      for (const { id, output } of [plain, streamed]) {
        assertMatches(output, [
          { type: "message", status: "completed", content: [{ type: "output_text", text: "One moment." }] },
          { type: "function_call", call_id: "call_1", name: "find_weather", arguments: '{"city":"Graz"}' }
        ])
        const result = { type: "function_call_output" as const, call_id: "call_1", output: "rain" }
        const answer = yield* withWeatherTool(
          call(() => client.responses.create({ ...body, previous_response_id: id, input: [result] }))
        )
        assert.strictEqual(answer.output_text, "Weather: rain")
        assert.deepStrictEqual(yield* readLastCall, [
          { role: "user", content: input },
          { role: "assistant", content: "One moment." },
          { role: "tool", content: "rain" }
        ])
      }
    })
  )

  it.effect("OpenAI's client continues only stored responses of its owner", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* App.signInNewUser("pro"), yield* App.signInNewUser("pro")]
      const client = yield* openAiOf(owner, "gateway")
      const first = yield* call(() => client.responses.create({ model, input: "My name is Ada." }))
      const second = yield* call(() =>
        client.responses.create({ model, input: "Who?", previous_response_id: first.id })
      )
      const [item] = first.output
      yield* call(() =>
        client.responses.create({
          model,
          previous_response_id: second.id,
          input: [
            { type: "item_reference", id: item?.id ?? "" },
            { role: "user", content: "Again." }
          ]
        })
      )
      assert.deepStrictEqual(yield* readLastCall, [
        { role: "user", content: "My name is Ada." },
        { role: "assistant", content: "Good day." },
        { role: "user", content: "Who?" },
        { role: "assistant", content: "Good day." },
        { role: "assistant", content: "Good day." },
        { role: "user", content: "Again." }
      ])
      const unstored = yield* call(() => client.responses.create({ model, input, store: false }))
      assertMatches(unstored, { store: false })
      const refused = (by: OpenAI, body: OpenAI.Responses.ResponseCreateParamsNonStreaming) =>
        Effect.map(
          refusal(() => by.responses.create(body)),
          (error) => assertMatches(error, { status: 404, code: "response_not_found" })
        )
      const other = yield* openAiOf(stranger, "gateway")
      yield* refused(other, { model, input, previous_response_id: first.id })
      yield* refused(other, { model, input: [{ type: "item_reference", id: item?.id ?? "" }] })
      yield* refused(client, { model, input, previous_response_id: unstored.id })
      yield* refused(client, { model, input, previous_response_id: "resp_none" })

      assertMatches(yield* call(() => client.responses.retrieve(second.id)), {
        id: second.id,
        model: second.model,
        output: second.output,
        usage: second.usage,
        previous_response_id: first.id
      })
      assertMatches(yield* refusal(() => client.responses.retrieve(second.id, { stream: true })), {
        status: 400,
        param: "stream"
      })
      const message = (text: string) => ({
        type: "message",
        status: "completed",
        content: [{ type: "input_text", text }]
      })
      const third = yield* call(() =>
        client.responses.create({
          model,
          input: ["One", "Two", "Three"].map((content) => ({ role: "user" as const, content }))
        })
      )
      const listed: Array<OpenAI.Responses.ResponseItem> = []
      yield* call(async () => {
        for await (const one of client.responses.inputItems.list(third.id, { limit: 2, order: "asc" })) listed.push(one)
      })
      assertMatches(listed, [message("One"), message("Two"), message("Three")])
      assert.lengthOf(new Set(listed.map(({ id }) => id)), 3)
      assertMatches(yield* call(() => client.responses.inputItems.list(third.id, { limit: 1 })), {
        data: [message("Three")],
        has_more: true
      })
      assertMatches(yield* refusal(() => client.responses.inputItems.list(third.id, { after: "msg_none" })), {
        status: 400,
        param: "after"
      })
      const missing = { status: 404, code: "response_not_found" }
      assertMatches(yield* refusal(() => other.responses.inputItems.list(first.id)), missing)
      assertMatches(yield* refusal(() => other.responses.retrieve(first.id)), missing)
      assertMatches(yield* refusal(() => other.responses.delete(first.id)), missing)
      yield* call(() => client.responses.delete(first.id))
      assertMatches(yield* refusal(() => client.responses.retrieve(first.id)), missing)
      assertMatches(yield* refusal(() => client.responses.delete(first.id)), missing)
    })
  )

  it.effect("OpenAI's client reads the end of a response that breaks off or is too long", () =>
    Effect.gen(function* () {
      const client = yield* openAiOf(yield* App.signInNewUser("pro"), "gateway")
      const { withBehavior } = yield* ModelProvidersTest
      const half = { type: "delta" as const, text: "Half" }
      const types = yield* withBehavior({ chat: () => Stream.make(half) })(
        call(async () => {
          const seen: Array<string> = []
          for await (const { type } of await client.responses.create({ model, input, stream: true })) seen.push(type)
          return seen
        })
      )
      assert.deepStrictEqual(types.slice(-2), ["error", "response.failed"])
      const long = yield* withBehavior({
        chat: () => Stream.make(half, { type: "done" as const, usage, finishReason: "length" })
      })(call(() => client.responses.create({ model, input, max_output_tokens: 3 })))
      assertMatches(long, { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } })
    })
  )

  it.effect("OpenAI's client receives the names of unsupported members of responses", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const client = yield* openAiOf(owner, "gateway", "chat")
      const agent = `agent/${owner.agent.id}`
      const references = Array.from({ length: 501 }, () => ({ type: "item_reference" as const, id: "msg_1" }))
      for (const [body, param] of [
        [{ input: references }, "input"],
        [{ background: true }, "background"],
        [{ conversation: "conv_1" }, "conversation"],
        [{ prompt: { id: "pmpt_1" } }, "prompt"],
        [{ top_logprobs: 2 }, "top_logprobs"],
        [{ reasoning: { effort: "low" as const } }, "reasoning"],
        [{ truncation: "auto" as const }, "truncation"],
        [{ max_tool_calls: 1 }, "max_tool_calls"],
        [{ text: { verbosity: "low" as const } }, "text.verbosity"],
        [{ include: ["message.output_text.logprobs" as const] }, "include"],
        [{ model: agent, text: { format: { type: "json_object" as const } } }, "text.format"],
        [{ tool_choice: "required" as const }, "tool_choice"],
        [{ model: agent, previous_response_id: "resp_1" }, "previous_response_id"],
        [{ model: agent, tools: [responseTool] }, "tools"]
      ] as const)
        assertMatches(
          yield* refusal(() =>
            client.responses.create({
              model,
              input,
              ...body,
              tools: "tools" in body ? [...body.tools] : [],
              include: "include" in body ? [...body.include] : []
            })
          ),
          {
            status: 400,
            code: "unsupported_parameter",
            param
          }
        )
      const completions = [
        [{ n: 2 }, "n"],
        [{ logprobs: true }, "logprobs"],
        [{ stop: "." }, "stop"],
        [{ response_format: { type: "json_object" as const } }, "response_format"]
      ] as const
      const messages = [{ role: "user" as const, content: input }]
      for (const [body, param] of completions)
        assertMatches(yield* refusal(() => client.chat.completions.create({ model: agent, messages, ...body })), {
          status: 400,
          code: "unsupported_parameter",
          param
        })
      assert.strictEqual(yield* readUsedUnits(owner), 0)
    })
  )

  it.effect("OpenAI's, the AI SDK's and LangChain's clients create embeddings, charged by their tokens", () =>
    Effect.gen(function* () {
      const owner = yield* App.signInNewUser("pro")
      const access = yield* accessOf(owner, "gateway")
      const client = new OpenAI({ ...access, maxRetries: 0 })
      const body = { model: "text-embedding-3-small", input: ["one", "three"] }
      const vectors = [
        [3, 0.5],
        [5, 0.5]
      ]
      const packed = yield* call(() => client.embeddings.create(body))
      const plain = yield* call(() => client.embeddings.create({ ...body, encoding_format: "float" }))
      for (const { data, usage: used } of [packed, plain]) {
        assert.deepStrictEqual(
          data.map(({ embedding }) => embedding),
          vectors
        )
        assert.strictEqual(used.total_tokens, 7)
      }
      assert.strictEqual(yield* readUsedUnits(owner), 2)
      const many = yield* call(() =>
        embedMany({
          model: createOpenAI(access).embedding("openai/text-embedding-3-small"),
          values: body.input,
          maxRetries: 0
        })
      )
      assert.deepStrictEqual(many.embeddings, vectors)
      const configuration = { baseURL: access.baseURL }
      const langchain = new OpenAIEmbeddings({ model: body.model, apiKey: access.apiKey, configuration, maxRetries: 0 })
      assert.deepStrictEqual(yield* call(() => langchain.embedDocuments(body.input)), vectors)
      const embed = (count: number) =>
        client.embeddings.create({ ...body, input: Array.from({ length: count }, () => "a"), encoding_format: "float" })
      assert.lengthOf((yield* call(() => embed(2_048))).data, 2_048)
      assertMatches(yield* refusal(() => embed(2_049)), { status: 400, code: "invalid_request", param: "input" })
      const { data } = yield* call(() => client.models.list())
      assert.include(
        data.map(({ id }) => id),
        "openai/text-embedding-3-small"
      )
      const unknown = { ...body, model: "google/gemini-embedding-001" }
      for (const refused of [unknown, { ...body, model }])
        assertMatches(yield* refusal(() => client.embeddings.create(refused)), { status: 404, code: "model_not_found" })
      const used = yield* readUsedUnits(owner)
      const { withBehavior } = yield* ModelProvidersTest
      const overloaded = new ProviderFailed({ provider: "openai", kind: "overloaded", reason: "it is overloaded" })
      const failed = yield* withBehavior({ embed: () => overloaded })(refusal(() => client.embeddings.create(body)))
      assertMatches(failed, { status: 503, code: "provider_overloaded" })
      assert.strictEqual(yield* readUsedUnits(owner), used)
      const begun = yield* Deferred.make<void>()
      const leaving = new AbortController()
      const unanswered = Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never)
      yield* withBehavior({ embed: () => unanswered })(
        Effect.gen(function* () {
          const left = yield* Effect.fork(refusal(() => client.embeddings.create(body, { signal: leaving.signal })))
          yield* Deferred.await(begun)
          leaving.abort()
          yield* Fiber.join(left)
        })
      )
      const open = sql`select id from reservations where user_id = ${owner.user.id} and state = 'reserved'`
      yield* eventually(open, (rows) => rows.length === 0)
      assert.strictEqual(yield* readUsedUnits(owner), used + 1)
      // The key exists when the call is priced, and is deleted when it is used.
      const lookups = [{ openai: Redacted.make("sk-own") }, {}]
      const removed = yield* withBehavior({ keys: () => Effect.sync(() => lookups.shift() ?? {}) })(
        refusal(() => client.embeddings.create(body))
      )
      assertMatches(removed, { code: "plugin_failed" })
      assert.isEmpty(lookups)
      assert.strictEqual(yield* readUsedUnits(owner), used + 1)
      const spent = yield* App.signInNewUser("pro")
      yield* exhaustUnits(spent)
      const spentClient = yield* openAiOf(spent, "gateway")
      assertMatches(yield* refusal(() => spentClient.embeddings.create(body)), { status: 402 })
    })
  )

  it.effect("The AI SDK generates, streams and runs tools with both of its OpenAI providers", () =>
    Effect.gen(function* () {
      const access = yield* accessOf(yield* App.signInNewUser("pro"), "gateway")
      const models: ReadonlyArray<readonly [string, LanguageModel]> = [
        ["@ai-sdk/openai", createOpenAI(access)(model)],
        ["@ai-sdk/openai-compatible", createOpenAICompatible({ ...access, name: "berth" })(model)]
      ]
      const tools = {
        find_weather: tool({
          description: "Finds the weather",
          inputSchema: jsonSchema<{ city: string }>(parameters),
          execute: ({ city }) => Promise.resolve(`rain in ${city}`)
        })
      }
      for (const [name, languageModel] of models) {
        const common = { model: languageModel, maxRetries: 0 }
        const first = yield* call(() => generateText({ ...common, prompt: input }))
        assert.deepStrictEqual([first.text, first.usage.totalTokens], ["Good day.", 10], name)
        // At the first provider, the earlier answer is a reference to a stored item.
        const messages = [
          { role: "user" as const, content: input },
          ...first.response.messages,
          { role: "user" as const, content: "And you?" }
        ]
        const streamed = yield* call(() => streamText({ ...common, messages }).text)
        assert.strictEqual(streamed, "Good day.", name)
        assert.deepStrictEqual(
          yield* readLastCall,
          [
            { role: "user", content: input },
            { role: "assistant", content: "Good day." },
            { role: "user", content: "And you?" }
          ],
          name
        )
        const loop = { ...common, tools, stopWhen: stepCountIs(3), prompt: input }
        const [plain, stepped] = yield* withWeatherTool(
          Effect.all([call(() => generateText(loop)), call(() => streamText(loop).text)])
        )
        assert.deepStrictEqual([plain.text, stepped], ["Weather: rain in Graz", "Weather: rain in Graz"], name)
      }
    })
  )

  it.effect("OpenAI's and the AI SDK's clients send images to models, by completions and responses", () =>
    Effect.gen(function* () {
      const access = yield* accessOf(yield* App.signInNewUser("pro"), "gateway")
      const dataParts = [
        { type: "text", text: input },
        { type: "image", source: { type: "data", mediaType: "image/png", data: png.toString("base64") } }
      ]
      for (const [name, send] of imageSenders(access, model)) {
        assert.strictEqual(yield* withVision(call(send)), "Good day.", name)
        const last = (yield* (yield* ModelProvidersTest).calls).at(-1)?.messages.at(-1)
        assertMatches(last, { role: "user", content: input, parts: dataParts }, name)
      }
      const url = "https://example.com/cat.png"
      const client = new OpenAI({ ...access, maxRetries: 0 })
      yield* withVision(
        call(() =>
          client.responses.create({
            model,
            input: [{ role: "user", content: [{ type: "input_image", image_url: url, detail: "low" }] }]
          })
        )
      )
      const last = (yield* (yield* ModelProvidersTest).calls).at(-1)?.messages.at(-1)
      assertMatches(last, { parts: [{ type: "image", source: { type: "url", url }, detail: "low" }] })
    })
  )

  it.effect("OpenAI's and the AI SDK's clients send images to agents as attachments, and none that they refuse", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const access = yield* accessOf(owner, "gateway", "chat")
      const agent = `agent/${owner.agent.id}`
      const senders = imageSenders(access, agent)
      const turns = yield* withVision(
        receivedTurns(
          Effect.forEach(senders, ([name, send]) => Effect.map(call(send), (text) => assert.equal(text, "fine", name)))
        )
      )
      assert.lengthOf(turns, senders.length)
      for (const { images, message } of turns) {
        assert.strictEqual(message, `${input}\n\n[Attached image: image-1.png]`)
        const attachments = yield* AttachmentRepository
        const stored = yield* attachments.readContents(
          { userId: owner.user.id, agentId: owner.agent.id },
          (images ?? []).map((id) => AttachmentId.make(id))
        )
        assert.deepStrictEqual([...stored.values()], [{ mediaType: "image/png", base64: png.toString("base64") }])
      }
      assert.strictEqual(yield* readUsedUnits(owner), senders.length)

      const client = new OpenAI({ ...access, maxRetries: 0 })
      const refused = (url: string) =>
        refusal(() =>
          client.responses.create({
            model: agent,
            input: [{ role: "user", content: [{ type: "input_image", image_url: url, detail: "auto" }] }]
          })
        )
      const dataUrl = `data:image/png;base64,${png.toString("base64")}`
      assertMatches(yield* refused(dataUrl), { status: 400, code: "images_not_supported" })
      yield* withVision(
        Effect.gen(function* () {
          const address = yield* refused("https://example.com/cat.png")
          assertMatches(address, { status: 400, code: "unsupported_parameter", param: "messages" })
          for (const text of ["<svg/>", "", "%PDF-\u0000"]) {
            const url = `data:image/png;base64,${Buffer.from(text).toString("base64")}`
            assertMatches(yield* refused(url), { status: 400, code: "attachment_invalid" }, text)
          }
          yield* leaveUnits(owner, 0)
          assertMatches(yield* refused(dataUrl), { status: 402, code: "units_exhausted" })
        })
      )
      assert.strictEqual(yield* countStored(owner), senders.length)
    })
  )

  it.effect("LangChain's client of OpenAI chats, streams and calls tools", () =>
    Effect.gen(function* () {
      const { apiKey, baseURL } = yield* accessOf(yield* App.signInNewUser("pro"), "gateway")
      const configuration = { baseURL }
      for (const useResponsesApi of [false, true]) {
        const chat = new ChatOpenAI({ model, apiKey, configuration, useResponsesApi, maxRetries: 0 })
        const answer = yield* call(() => chat.invoke([new HumanMessage(input)]))
        assert.strictEqual(answer.text, "Good day.")
        const pieces = yield* call(async () => {
          const texts: Array<string> = []
          for await (const piece of await chat.stream(input)) texts.push(piece.text)
          return texts.join("")
        })
        assert.strictEqual(pieces, "Good day.")
        const bound = chat.bindTools([{ type: "function", function: { name: "find_weather", parameters } }])
        const { tool_calls: calls } = yield* withWeatherTool(call(() => bound.invoke(input)))
        assertMatches(calls, [{ name: "find_weather", args: { city: "Graz" } }])
      }
    })
  )

  it.scoped("The official MCP client sends messages to the owner's agents, which report their progress", () =>
    Effect.gen(function* () {
      const [owner, stranger] = [yield* createOwnerWithAgent(), yield* createOwnerWithAgent()]
      const client = yield* connectMcp(owner, "chat")
      const { body } = yield* App.web({ method: "GET", path: "/api/agent", as: owner })
      assert.deepStrictEqual(client.getServerVersion(), { name: "berth", version: String(body["serviceVersion"]) })
      assert.deepStrictEqual(client.getServerCapabilities(), { tools: { listChanged: false } })
      const { tools } = yield* call(() => client.listTools())
      const name = nameOf("chat", owner)
      assertMatches(tools, [{ name, title: `Chat with ${owner.agent.name}`, inputSchema: { required: ["message"] } }])
      const progress: Array<string | undefined> = []
      const result = yield* withReply(
        "I am ",
        "here."
      )(
        call(() =>
          client.callTool({ name, arguments: { message: "Hello" } }, undefined, {
            onprogress: ({ message }) => progress.push(message)
          })
        )
      )
      assertMatches(result, {
        content: [{ type: "text", text: "I am here." }],
        structuredContent: { reply: "I am here.", sessionId: owner.conversation }
      })
      assert.strictEqual(progress.join(""), "I am here.")
      assert.strictEqual(yield* readUsedUnits(owner), 1)

      const failing = (arguments_: Record<string, unknown>) =>
        Effect.map(
          call(() => client.callTool({ name, arguments: arguments_ })),
          (failed) => assertMatches(failed, { isError: true, content: [{ type: "text" }] })
        )
      yield* failing({})
      assertMatches(yield* call(() => client.callTool({ name, arguments: {} })), {
        isError: true,
        content: [{ type: "text", text: "Invalid arguments: message: is missing" }]
      })
      yield* failing({ message: " " })
      yield* failing({ message: "Hello", sessionId: stranger.conversation })
      const foreign = { name: nameOf("chat", stranger), arguments: { message: "Hello" } }
      assertMatches(yield* refusal(() => client.callTool(foreign)), { code: -32602 })
    })
  )

  it.effect("POST /mcp rejects an invalid message with a JSON-RPC error", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" }
      const rejected: ReadonlyArray<readonly [string, number]> = [
        ["{", -32_700],
        ["[]", -32_600],
        ['"hello"', -32_600],
        ['{"method":"ping"}', -32_600]
      ]
      for (const [body, code] of rejected) {
        const answer = yield* App.web({ method: "POST", path: "/mcp", as: owner, headers, body })
        assert.strictEqual(answer.status, 400, body)
        assertMatches(answer.body, { jsonrpc: "2.0", id: null, error: { code } }, body)
        assertRpcError(answer.body)
      }
    })
  )

  it.effect("POST /mcp answers invalid parameters as errors of the client, beside the answers of a batch", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const invalid: ReadonlyArray<readonly [string, object | undefined, string]> = [
        ["initialize", undefined, "params: "],
        ["tools/call", {}, "params.name: "],
        ["tools/call", { name: nameOf("chat", owner), arguments: [] }, "params.arguments: "],
        ["tools/call", { name: "chat_none" }, "There is no tool chat_none"],
        ["tools/list", { cursor: 1 }, "params.cursor: "],
        ["tools/list", { cursor: "next" }, "params.cursor: "]
      ]
      for (const [method, params, start] of invalid) {
        const [error, ...others] = yield* askMcp(owner, { jsonrpc: "2.0", id: 1, method, params })
        assert.isEmpty(others)
        assertMatches(error, { id: 1, error: { code: -32_602 } }, method)
        assert.include(JSON.stringify(error), `"message":"${start}`)
      }
      const answers = yield* askMcp(owner, [
        { jsonrpc: "2.0", id: 1, method: "tools/call", params: {} },
        { jsonrpc: "2.0", id: 2, method: "ping" }
      ])
      assertMatches(answers, [
        { id: 1, error: { code: -32_602 } },
        { id: 2, result: {} }
      ])
    })
  )

  it.effect("POST /mcp runs a tool call that asks for a task like any other", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const params = { name: nameOf("chat", owner), arguments: { message: "Hello" }, task: { ttl: 60_000 } }
      const answers = yield* withReply("I am here.")(
        askMcp(owner, { jsonrpc: "2.0", id: 1, method: "tools/call", params })
      )
      assertMatches(answers, [{ id: 1, result: { content: [{ type: "text", text: "I am here." }] } }])
    })
  )

  it.effect("POST /mcp refuses a client that does not accept event streams with a JSON-RPC error", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const answer = yield* App.web({
        method: "POST",
        path: "/mcp",
        as: owner,
        headers: { accept: "application/json" },
        json: { jsonrpc: "2.0", id: 1, method: "tools/list" }
      })
      assert.strictEqual(answer.status, 406)
      assertMatches(answer.body, { id: 1, error: { code: -32_000, data: { code: "not_acceptable" } } })
      assertRpcError(answer.body)
    })
  )

  it.effect("POST /mcp refuses an unknown version of the protocol with the id of the request", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const headers = {
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28"
      }
      const ask = (message: unknown) =>
        App.web({ method: "POST", path: "/mcp", as: owner, headers, body: JSON.stringify(message) })
      for (const id of ["a", 7]) {
        const answer = yield* ask({ jsonrpc: "2.0", id, method: "server/discover" })
        assert.strictEqual(answer.status, 400)
        assertMatches(answer.body, { jsonrpc: "2.0", id, error: { code: -32_000 } })
      }
      const notification = yield* ask({ jsonrpc: "2.0", method: "notifications/initialized" })
      assertMatches(notification.body, { id: null, error: { code: -32_000, data: { code: "invalid_request" } } })
      assertRpcError(notification.body)
    })
  )

  it.scoped("The official MCP client calls enabled skills of agents, with the scope agents alone", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const path = `/api/agents/${owner.agent.id}/config`
      yield* App.web({ method: "PUT", path, as: owner, json: { skills: ["calculator"] } })
      const names = (client: Client) =>
        Effect.map(
          call(() => client.listTools()),
          ({ tools }) => tools.map((one) => one.name)
        )
      const name = nameOf("calculate", owner)
      assert.notInclude(yield* names(yield* connectMcp(owner, "chat")), name)
      const client = yield* connectMcp(owner, "chat", "agents")
      assert.include(yield* names(client), name)
      assertMatches(yield* call(() => client.callTool({ name, arguments: { expression: 1 } })), { isError: true })

      const [result] = yield* Effect.all(
        [call(() => client.callTool({ name, arguments: { expression: "1 + 1" } })), finishNextRun(owner, "2")],
        { concurrency: 2 }
      )
      assertMatches(result, { isError: false, content: [{ type: "text", text: "2" }] })
    })
  )

  it.effect("The eventsource package reads an answer again by API key and stops at its end", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { apiKey, webUrl } = yield* accessOf(owner, "chat")
      const chat = { method: "POST", path: "/api/chat", as: owner, json: { message: "Hello" } }
      const { body } = yield* withReply("I am ", "here.")(App.web(chat))
      const statuses: Array<number> = []
      const source = new EventSource(`${webUrl}/api/agent/messages/${String(body["id"])}/events`, {
        fetch: async (url, init) => {
          const response = await fetch(url, {
            ...init,
            headers: { ...init.headers, authorization: `Bearer ${apiKey}` }
          })
          statuses.push(response.status)
          return response
        }
      })
      const done = yield* Effect.async<string>((resume) => {
        source.addEventListener("done", ({ data }) => resume(Effect.succeed(String(data))))
      })
      assertMatches(JSON.parse(done), { reply: "I am here." })
      // It reconnects with the last id; 204 closes it.
      yield* Effect.async<void>((resume) => {
        source.addEventListener("error", () => {
          if (source.readyState === EventSource.CLOSED) resume(Effect.void)
        })
      })
      assert.deepStrictEqual(statuses, [200, 204])
    })
  )

  it.scoped("The ws package sends messages to an agent by API key", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { apiKey, webUrl } = yield* accessOf(owner, "chat")
      const socket = yield* connectSocket({
        host: new URL(webUrl).host,
        path: `/agents/${owner.agent.id}/ws`,
        headers: { authorization: `Bearer ${apiKey}` }
      })
      const done = yield* withReply("I am here.")(
        Effect.zipRight(
          Effect.sync(() => socket.send({ type: "chat", message: "Hello" })),
          socket.until(({ type }) => type === "done")
        )
      )
      assert.strictEqual(done["reply"], "I am here.")
    })
  )

  it.effect("The client of the API reads and fails with the types of the contract", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { apiKey, webUrl } = yield* accessOf(owner, "agents")
      const client = yield* makeClient({ baseUrl: webUrl, apiKey: Redacted.make(apiKey) })
      const [agent] = (yield* client.agents.list()).agents
      assert.deepStrictEqual(agent?.createdAt, owner.agent.createdAt)
      const missing = yield* Effect.flip(client.agents.detail({ path: { id: AgentId.make("agt_none") } }))
      assert.instanceOf(missing, AgentNotFound)
      const options = { baseUrl: webUrl, apiKey: Redacted.make(apiKey) }
      const toSend = { agentId: owner.agent.id, message: "Hello" }
      const refused = yield* Effect.flip(Stream.runDrain(streamReply(options, toSend)))
      assert.deepInclude(refused, { _tag: "AnswerFailed", code: "scope_missing" })
    })
  )

  it.effect("The berth command signs in, lists, shows, chats and reads logs by API key", () =>
    Effect.gen(function* () {
      const owner = yield* createOwnerWithAgent()
      const { apiKey, webUrl } = yield* accessOf(owner, "agents", "chat")
      const terminal = yield* makeTerminal
      const berth = terminal.run
      assert.include(yield* berth([]), "berth login")
      assert.include(yield* berth(["agents"]), "You are not signed in")
      assert.include(yield* berth(["login", "--url", webUrl], "berth_wrong"), "berth: ")
      for (const url of ["http://berth.example", "http://localhost.berth.example", "ftp://127.0.0.1"])
        assert.include(yield* berth(["login", "--url", url], apiKey), "would send the API key unencrypted")
      assert.strictEqual(yield* berth(["login", "--url", webUrl], apiKey), `Signed in to ${webUrl}.\n`)
      assert.include(yield* berth(["agents"]), owner.agent.id)
      assert.include(yield* berth(["agents", "show", owner.agent.name]), "running")
      assert.include(yield* berth(["agents", "show", "none"]), "You have no agent none.")
      const replies = withReply("I am ", "\u001b]52;c;aGVyZQ==\u0007", "here.")
      const shown = "I am ]52;c;aGVyZQ==here.\n"
      assert.strictEqual(yield* replies(berth(["chat", owner.agent.id, "Hello"])), shown)
      assert.strictEqual(yield* replies(berth(["chat", owner.agent.id], "One", "Two", "")), shown + shown)
      assert.notInclude(yield* berth(["logs", owner.agent.id]), "berth: ")
      assert.include(yield* berth(["logs", owner.agent.id, "--limit", "0"]), "--limit")
      assert.include(yield* berth(["fly"]), "no command fly")
    })
  )

  it.effect("The berth command lists, creates and revokes API keys with email and password", () =>
    Effect.gen(function* () {
      const { webUrl } = yield* App.TestApp
      const [email, password] = [`${yield* uniqueName("command")}@example.com`, "correct horse battery"]
      yield* App.web({ method: "POST", path: "/api/register", json: { email, password } })
      const terminal = yield* makeTerminal
      yield* terminal.store({ url: webUrl, key: "berth_unused" })
      const berth = (...args: ReadonlyArray<string>) => terminal.run(["keys", ...args], email, password)
      const key = (yield* berth("create", "laptop", "--scope", "agents", "--scope", "chat")).trim()
      assert.match(key, /^berth_/)
      assert.include(yield* terminal.run(["login", "--url", webUrl], key), "Signed in")
      const listed = yield* berth()
      assert.match(listed, /laptop .*agents,chat/)
      const [id = ""] = /key_\w+/.exec(listed) ?? []
      assert.strictEqual(yield* berth("revoke", id), "Revoked.\n")
      assert.include(yield* terminal.run(["agents"]), "berth: ")
      assert.include(yield* berth("create", "bad", "--scope", "everything"), "berth: ")
      assert.include(yield* terminal.run(["keys"], email, "wrong"), "berth: ")
    })
  )
})
