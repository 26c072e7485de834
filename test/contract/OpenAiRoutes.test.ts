import { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { type ChatMessage, type ChatOptions } from "@berth/domain/ai/chat/ModelChat"
import { assert, layer } from "@effect/vitest"
import { Duration, Effect, Stream } from "effect"
import { type ModelProvidersBehavior, ModelProvidersTest } from "@berth/infra/ai/ModelProvidersTest"
import * as App from "../support/TestApp.ts"
import * as s from "./ResponseShapes.ts"

const path = "/v1/chat/completions"
const model = "openai/gpt-4"
const messages = [{ role: "user", content: "hello" }]

const during =
  (script: Partial<ModelProvidersBehavior>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.flatMap(ModelProvidersTest, ({ withBehavior: doing }) => doing(script)(effect))

const failing = (kind: ProviderFailed["kind"], retryAfter?: Duration.Duration) =>
  during({
    chat: () => Stream.fail(new ProviderFailed({ provider: "openai", kind, reason: `it is ${kind}`, retryAfter }))
  })

const ask = (json: object, headers: Record<string, string> = {}) =>
  App.backend({ method: "POST", path, json: { model, messages, ...json }, headers })

const reaching = (json: object) =>
  Effect.gen(function* () {
    const reached: Array<{ readonly messages: ReadonlyArray<ChatMessage>; readonly options: ChatOptions }> = []
    const answer = yield* ask(json).pipe(
      during({
        chat: (_, messages, options) => {
          reached.push({ messages, options })
          return Stream.make({ type: "done", usage: null, finishReason: "stop" } as const)
        }
      })
    )
    assert.strictEqual(answer.status, 200, answer.text)
    return reached[0]
  })

const image = (url: string) => [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }]

layer(App.shared, { excludeTestServices: true })("OpenAI's routes", (it) => {
  it.effect("OpenAI's routes answer with exactly the documented members", () =>
    Effect.gen(function* () {
      const answer = yield* ask({})
      assert.strictEqual(answer.status, 200, answer.text)
      s.assertShape(answer.body, {
        id: s.prefixedId("cpl"),
        object: s.equalTo("chat.completion"),
        created: (value) => Number.isInteger(value),
        model: s.equalTo(model),
        choices: [
          {
            index: s.equalTo(0),
            message: { role: s.equalTo("assistant"), content: s.equalTo("Good day."), refusal: s.equalTo(null) },
            logprobs: s.equalTo(null),
            finish_reason: s.equalTo("stop")
          }
        ],
        usage: {
          prompt_tokens: s.equalTo(7),
          completion_tokens: s.equalTo(3),
          total_tokens: s.equalTo(10),
          cost: s.equalTo(0.000066)
        }
      })
      assert.deepInclude(answer.headers, {
        "x-model": model,
        "x-provider": "openai",
        "x-berth-attempts": `openai:${model}`,
        "x-berth-cost-usd": "0.000066"
      })
      assert.match(String(answer.headers["x-berth-overhead-ms"]), /^\d+(\.\d+)?$/)
      assert.match(String(answer.headers["x-request-id"]), /^req_/)
    })
  )

  it.effect("OpenAI's routes stream chunks, with the usage last on request, and end as the protocol does", () =>
    Effect.gen(function* () {
      const answer = yield* ask({ stream: true, stream_options: { include_usage: true } })
      assert.match(answer.headers["content-type"] ?? "", /^text\/event-stream/)
      const data = answer.text
        .split("\n\n")
        .filter((line) => line.startsWith("data: "))
        .map((line) => line.slice("data: ".length))
      assert.strictEqual(data.at(-1), "[DONE]")
      const chunks: ReadonlyArray<unknown> = data.slice(0, -1).map((text): unknown => JSON.parse(text))
      const head = {
        id: s.prefixedId("cpl"),
        object: s.equalTo("chat.completion.chunk"),
        created: (value: unknown) => Number.isInteger(value),
        model: s.equalTo(model)
      }
      const choice = (delta: Record<string, s.ResponseShape>, finish: string | null): s.ResponseShape => ({
        ...head,
        choices: [{ index: s.equalTo(0), delta, logprobs: s.equalTo(null), finish_reason: s.equalTo(finish) }],
        usage: s.equalTo(null)
      })
      assert.strictEqual(chunks.length, 5)
      s.assertShape(chunks[0], choice({ role: s.equalTo("assistant"), content: s.equalTo("") }, null))
      s.assertShape(chunks[1], choice({ content: s.equalTo("Good ") }, null))
      s.assertShape(chunks[2], choice({ content: s.equalTo("day.") }, null))
      s.assertShape(chunks[3], choice({}, "stop"))
      s.assertShape(chunks[4], {
        ...head,
        choices: (value: unknown) => Array.isArray(value) && value.length === 0,
        usage: {
          prompt_tokens: s.equalTo(7),
          completion_tokens: s.equalTo(3),
          total_tokens: s.equalTo(10),
          cost: s.equalTo(0.000066)
        }
      })
      const without = yield* ask({ stream: true })
      assert.notInclude(without.text, "usage")
    })
  )

  it.effect("OpenAI's routes pass all members of a request to the AI layer", () =>
    Effect.gen(function* () {
      const tool = { name: "look-up", description: "Looks up", parameters: { type: "object" } }
      const reached = yield* reaching({
        messages: [
          {
            role: "developer",
            content: [
              { type: "text", text: "Be" },
              { type: "text", text: "kind" }
            ]
          },
          {
            role: "user",
            content: [
              { type: "text", text: "What is this?" },
              { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "high" } },
              { type: "image_url", image_url: { url: "https://example.com/cat.png" } }
            ]
          },
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "call_1", type: "function", function: { name: "look-up", arguments: "{}" } }]
          },
          { role: "tool", tool_call_id: "call_1", content: "found" },
          { role: "user", content: [{ type: "text", text: "Go on" }] }
        ],
        tools: [{ type: "function", function: tool }],
        tool_choice: { type: "function", function: { name: "look-up" } },
        parallel_tool_calls: false,
        response_format: {
          type: "json_schema",
          json_schema: { name: "person", schema: { type: "object" }, strict: true }
        },
        temperature: 0.5,
        top_p: 0.9,
        max_tokens: 5,
        max_completion_tokens: 10,
        stop: "END",
        seed: 7,
        frequency_penalty: 0.1,
        presence_penalty: 0.2,
        n: 1,
        logprobs: false,
        user: "someone",
        store: true,
        metadata: { any: "thing" }
      })
      assert.deepStrictEqual(reached?.messages, [
        { role: "system", content: "Be\nkind" },
        {
          role: "user",
          content: "What is this?",
          parts: [
            { type: "text", text: "What is this?" },
            { type: "image", source: { type: "data", mediaType: "image/png", data: "iVBORw0KGgo=" }, detail: "high" },
            { type: "image", source: { type: "url", url: "https://example.com/cat.png" } }
          ]
        },
        { role: "assistant", content: "", toolCalls: [{ id: "call_1", name: "look-up", arguments: "{}" }] },
        { role: "tool", content: "found", toolCallId: "call_1", toolName: "look-up" },
        { role: "user", content: "Go on" }
      ])
      assert.deepStrictEqual(reached?.options, {
        tools: [tool],
        toolChoice: { name: "look-up" },
        parallelToolCalls: false,
        responseFormat: { type: "json-schema", name: "person", schema: { type: "object" }, strict: true },
        temperature: 0.5,
        topP: 0.9,
        maxTokens: 10,
        stop: ["END"],
        seed: 7,
        frequencyPenalty: 0.1,
        presencePenalty: 0.2
      })
    })
  )

  it.effect("OpenAI's routes reject invalid and unsupported members by name in OpenAI's shape", () =>
    Effect.gen(function* () {
      const tools = [{ type: "function", function: { name: "look-up" } }]
      const wrong: ReadonlyArray<readonly [object, string, string]> = [
        [{ messages: [] }, "invalid_request", "messages"],
        [{ messages: "hello" }, "invalid_request", "messages"],
        [{ messages: [{ role: "function", content: "x" }] }, "invalid_request", "messages.0.role"],
        [{ messages: [{ role: "user" }] }, "invalid_request", "messages.0.content"],
        [{ messages: image("ftp://example.com/cat.png") }, "invalid_request", "messages.0.content.0.image_url.url"],
        [{ messages: image("data:text/html;base64,PGI+") }, "invalid_request", "messages.0.content.0.image_url.url"],
        [
          { messages: [{ role: "system", content: image("https://example.com/a.png")[0]?.content }] },
          "invalid_request",
          "messages.0.content.0.type"
        ],
        [{ model: "" }, "invalid_request", "model"],
        [{ temperature: 3 }, "invalid_request", "temperature"],
        [{ max_completion_tokens: 0 }, "invalid_request", "max_completion_tokens"],
        [{ n: 2 }, "unsupported_parameter", "n"],
        [{ logprobs: true }, "unsupported_parameter", "logprobs"],
        [{ top_logprobs: 3 }, "unsupported_parameter", "top_logprobs"],
        [{ logit_bias: { "50256": -100 } }, "unsupported_parameter", "logit_bias"],
        [{ modalities: ["text", "audio"] }, "unsupported_parameter", "modalities"],
        [{ audio: { voice: "alloy" } }, "unsupported_parameter", "audio"],
        [{ functions: [{ name: "look-up" }] }, "unsupported_parameter", "functions"],
        [{ function_call: "auto" }, "unsupported_parameter", "function_call"],
        [{ web_search_options: {} }, "unsupported_parameter", "web_search_options"],
        [{ reasoning_effort: "low" }, "unsupported_parameter", "reasoning_effort"],
        [{ verbosity: "low" }, "unsupported_parameter", "verbosity"],
        [{ tool_choice: "required" }, "unsupported_parameter", "tool_choice"],
        [
          { tools, tool_choice: { type: "function", function: { name: "other" } } },
          "unsupported_parameter",
          "tool_choice"
        ]
      ]
      for (const [json, code, param] of wrong) {
        const answer = yield* ask(json)
        assert.strictEqual(answer.status, 400, answer.text)
        const { error } = answer.body
        assert.deepInclude(error, { type: "invalid_request_error", code, param }, answer.text)
        assert.match(String(answer.body["traceId"]), /^[0-9a-f]{32}$/)
      }
    })
  )

  it.effect("OpenAI's routes return every other failure in OpenAI's shape", () =>
    Effect.gen(function* () {
      const unknown = yield* ask({ model: "nobody/nothing" })
      assert.deepEqual(
        [unknown.status, unknown.body["error"]],
        [
          404,
          {
            message: "There is no model nobody/nothing",
            type: "invalid_request_error",
            param: "model",
            code: "model_not_found"
          }
        ]
      )
      const kinds = [
        ["refused", 400, "invalid_request_error"],
        ["rate-limited", 429, "rate_limit_error"],
        ["unauthorized", 502, "server_error"],
        ["unreachable", 502, "server_error"],
        ["nonsense", 502, "server_error"],
        ["overloaded", 503, "server_error"],
        ["timeout", 504, "server_error"]
      ] as const
      for (const [kind, status, type] of kinds) {
        const answer = yield* failing(kind, Duration.millis(6_200))(ask({}))
        assert.strictEqual(answer.status, status, answer.text)
        assert.deepInclude(answer.body["error"], { type })
        assert.strictEqual(answer.headers["retry-after"], "7")
      }
      const broken = yield* during({ catalog: Effect.die(new Error("hunter2")) })(ask({}))
      assert.deepInclude(broken.body["error"], { type: "server_error", code: "internal" })
      assert.notInclude(broken.text, "hunter2")
      const others = [
        [
          yield* App.backend({ method: "POST", path, body: "{oops", headers: { "content-type": "application/json" } }),
          400
        ],
        [yield* App.backend({ method: "POST", path, body: "model=x", headers: { "content-type": "text/plain" } }), 415],
        [yield* App.backend({ method: "PUT", path }), 405],
        [yield* App.backend({ method: "POST", path: "/v1/embeddings", json: {} }), 404],
        [yield* ask({ messages: [{ role: "user", content: "x".repeat(8 * 1024 * 1024) }] }), 413]
      ] as const
      for (const [answer, status] of others) {
        assert.strictEqual(answer.status, status, answer.text)
        assert.deepInclude(answer.body["error"], { type: "invalid_request_error" })
      }
    })
  )

  it.effect("OpenAI's routes report a broken answer in the stream", () =>
    Effect.gen(function* () {
      const answer = yield* ask({ stream: true }).pipe(
        during({
          chat: () =>
            Stream.concat(
              Stream.make({ type: "delta", text: "Half " } as const),
              Stream.fail(new ProviderFailed({ provider: "openai", kind: "unreachable", reason: "it is gone" }))
            )
        })
      )
      assert.strictEqual(answer.status, 200)
      assert.include(answer.text, `"content":"Half "`)
      assert.include(
        answer.text,
        `data: {"error":{"message":"model provider openai cannot be reached; try again later"`
      )
      assert.notInclude(answer.text, "it is gone")
      assert.notInclude(answer.text, "[DONE]")
    })
  )

  it.effect("OpenAI's routes list available models only", () =>
    Effect.gen(function* () {
      const one = (id: string) => ({ id, object: "model", created: 0, owned_by: id.split("/")[0] })
      const list = yield* App.backend({ method: "GET", path: "/v1/models" })
      assert.deepStrictEqual(list.body, {
        object: "list",
        data: ["anthropic/claude-opus-4-6", "openai/gpt-4"].map(one)
      })
      for (const name of ["openai%2Fgpt-4", "gpt-4", "openai/gpt-4"]) {
        const found = yield* App.backend({ method: "GET", path: `/v1/models/${name}` })
        assert.deepStrictEqual([found.status, found.body], [200, one("openai/gpt-4")])
      }
      for (const name of ["nobody", "nobody%2Fnothing", "nobody/nothing"]) {
        const none = yield* App.backend({ method: "GET", path: `/v1/models/${name}` })
        assert.strictEqual(none.status, 404)
        assert.deepInclude(none.body["error"], { code: "model_not_found", param: "model" })
      }
    })
  )

  it.effect("OpenAI's routes accept larger bodies with images than other paths", () =>
    Effect.gen(function* () {
      const reached = yield* reaching({ messages: image(`data:image/png;base64,${"A".repeat(3 * 1024 * 1024)}`) })
      assert.deepInclude(reached?.messages[0], { role: "user", content: "" })
    })
  )
})

layer(App.layer({ aiLayerIsPrivate: true }), { excludeTestServices: true })("OpenAI's routes in production", (it) => {
  it.effect("OpenAI's routes in production require the internal key as their API key", () =>
    Effect.gen(function* () {
      const { internalKey } = yield* App.TestApp
      for (const headers of [{}, { authorization: "Bearer sk-wrong" }]) {
        const refused = yield* ask({}, headers)
        assert.strictEqual(refused.status, 401)
        assert.deepInclude(refused.body["error"], { type: "invalid_request_error", code: "invalid_api_key" })
      }
      assert.strictEqual((yield* ask({}, { authorization: `Bearer ${internalKey}` })).status, 200)
    })
  )
})

layer(App.shared, { excludeTestServices: true })("The AI layer without an internal key", (it) => {
  it.effect("The AI layer without an internal key rejects Host headers of other sites on every route", () =>
    Effect.gen(function* () {
      for (const path of ["/v1/chat/completions", "/api/ai/chat"]) {
        const refused = yield* App.backend({
          method: "POST",
          path,
          json: { messages },
          headers: { host: "evil.example" }
        })
        assert.strictEqual(refused.status, 403)
        assert.notInclude(refused.text, "Good day.")
        for (const host of ["localhost:4000", "berth.test"])
          assert.strictEqual(
            (yield* App.backend({ method: "POST", path, json: { model, messages }, headers: { host } })).status,
            200
          )
      }
      assert.strictEqual(
        (yield* App.backend({ method: "GET", path: "/api/ai/models", headers: { host: "evil.example" } })).status,
        403
      )
    })
  )
})

layer(App.shared, { excludeTestServices: true })("POST /api/ai/chat", (it) => {
  it.effect("POST /api/ai/chat passes images and the response format to the model", () =>
    Effect.gen(function* () {
      const reached: Array<unknown> = []
      const json = {
        model,
        messages: [
          { role: "system", content: [{ type: "text", text: "Be kind" }] },
          {
            role: "user",
            content: [
              { type: "text", text: "Look" },
              { type: "image_url", image_url: { url: "https://example.com/cat.png" } }
            ]
          }
        ],
        response_format: { type: "json_object" }
      }
      const answer = yield* App.backend({ method: "POST", path: "/api/ai/chat", json }).pipe(
        during({
          chat: (_, messages, options) => {
            reached.push(messages, options.responseFormat)
            return Stream.make({ type: "done", usage: null, finishReason: "stop" } as const)
          }
        })
      )
      assert.strictEqual(answer.status, 200, answer.text)
      assert.strictEqual(Number(answer.headers["x-berth-cost-usd"]) > 0, true)
      assert.deepStrictEqual(reached, [
        [
          { role: "system", content: "Be kind" },
          {
            role: "user",
            content: "Look",
            parts: [
              { type: "text", text: "Look" },
              { type: "image", source: { type: "url", url: "https://example.com/cat.png" } }
            ]
          }
        ],
        { type: "json-object" }
      ])
    })
  )
})
