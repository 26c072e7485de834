import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { fromOpenRouterModelId, toOpenAiModelName, toOpenRouterModelId } from "@berth/infra/ai/openai/OpenAiModelName"
import { OpenAiStreamEvent, readOpenAiText } from "@berth/infra/ai/openai/OpenAiBodies"
import { makeOpenAiRequest } from "@berth/infra/ai/openai/OpenAiRequest"
import { classifyOpenAiFailure, readOpenAiError, readOpenAiErrorBody } from "@berth/infra/ai/openai/OpenAiErrors"
import { addOpenAiChunk, finishOpenAiAnswer, emptyOpenAiAnswer } from "@berth/infra/ai/openai/OpenAiAnswer"
import { toProviderFailure } from "@berth/infra/ai/vendor/ProviderFailure"
import { shippedModels } from "@berth/infra/ai/catalog/ModelSnapshot"
import { Headers } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Either, Redacted, Schema } from "effect"
import { assertMatches } from "../../../../test/support/Matching.ts"

const messages: ReadonlyArray<ChatMessage> = [{ role: "user", content: "Hi" }]

describe("model ids", () => {
  it("toOpenAiModelName returns the names of each provider", () => {
    assert.strictEqual(toOpenAiModelName("openrouter", "anthropic/claude-opus-4-6"), "anthropic/claude-opus-4.6")
    assert.strictEqual(toOpenAiModelName("openrouter", "anthropic/claude-3-haiku"), "anthropic/claude-3-haiku")
    assert.strictEqual(toOpenAiModelName("openrouter", "openai/gpt-4.1"), "openai/gpt-4.1")
    assert.strictEqual(toOpenAiModelName("openai", "openai/gpt-4.1"), "gpt-4.1")
    assert.strictEqual(toOpenAiModelName("groq", "groq/openai/gpt-oss-120b"), "openai/gpt-oss-120b")
    assert.strictEqual(
      toOpenRouterModelId("anthropic/claude-3-5-haiku-20241022"),
      "anthropic/claude-3.5-haiku-20241022"
    )
    assert.strictEqual(toOpenRouterModelId("anthropic/claude-opus-4-8-fast"), "anthropic/claude-opus-4.8-fast")
  })

  it("fromOpenRouterModelId inverts toOpenRouterModelId", () => {
    for (const { id } of shippedModels) assert.strictEqual(fromOpenRouterModelId(toOpenRouterModelId(id)), id)
  })
})

describe("a request", () => {
  const options = { temperature: 0.5, topP: 0.9, maxTokens: 100 }

  it("makeOpenAiRequest has the options that every server understands", () => {
    assert.deepStrictEqual(makeOpenAiRequest("openrouter", "openai/gpt-5", messages, options), {
      model: "openai/gpt-5",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 100
    })
  })

  it("makeOpenAiRequest omits options that are not set", () => {
    assert.deepStrictEqual(Object.keys(makeOpenAiRequest("groq", "groq/llama", messages, {})), [
      "model",
      "messages",
      "stream",
      "stream_options"
    ])
  })

  it("makeOpenAiRequest has the options that OpenAI's newer models accept", () => {
    const body = (id: string) => makeOpenAiRequest("openai", id, messages, options)
    assertMatches(body("openai/gpt-5.1"), { model: "gpt-5.1", max_completion_tokens: 100 })
    assert.notProperty(body("openai/gpt-5.1"), "max_tokens")
    assert.notProperty(body("openai/o3-mini"), "temperature")
    assertMatches(body("openai/gpt-5.2-chat"), { temperature: 0.5, max_completion_tokens: 100 })
    assertMatches(body("openai/gpt-4o"), { temperature: 0.5, max_tokens: 100 })
  })
})

describe("an answer", () => {
  it("OpenAiAnswer is the sum of its chunks", () => {
    const [begun, first] = addOpenAiChunk(emptyOpenAiAnswer, { choices: [{ delta: { content: "Hel" } }] })
    const [finished, second] = addOpenAiChunk(begun, { choices: [{ delta: { content: "lo" }, finish_reason: "stop" }] })
    const [counted, third] = addOpenAiChunk(finished, {
      choices: [],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 2,
        prompt_tokens_details: { cached_tokens: 1 },
        completion_tokens_details: { reasoning_tokens: 0 }
      }
    })
    assert.deepStrictEqual([first, second, third], ["Hel", "lo", ""])
    assert.deepStrictEqual(
      finishOpenAiAnswer(counted),
      Either.right({
        type: "done",
        finishReason: "stop",
        usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5, cachedTokens: 1, reasoningTokens: 0 }
      })
    )
    assert.isTrue(Either.isLeft(finishOpenAiAnswer(begun)))
    assert.isTrue(Either.isLeft(finishOpenAiAnswer(emptyOpenAiAnswer)))
  })

  it("OpenAiAnswer contains the text of a refusal", () => {
    const refusals = ["I can", "not do that."].map((refusal) => ({ choices: [{ delta: { content: "", refusal } }] }))
    assert.isTrue(refusals.every((chunk) => readOpenAiText(chunk) === null))
    const texts = refusals.map((chunk) => {
      const event = Schema.decodeUnknownSync(OpenAiStreamEvent)(chunk)
      return "error" in event ? null : addOpenAiChunk(emptyOpenAiAnswer, event)[1]
    })
    assert.deepStrictEqual(texts, ["I can", "not do that."])
  })

  it("finishOpenAiAnswer ends with a finish reason of the protocol", () => {
    const reasonOf = (reason: string) =>
      finishOpenAiAnswer(addOpenAiChunk(emptyOpenAiAnswer, { choices: [{ finish_reason: reason }] })[0])
    const reasons = { stop: "stop", length: "length", content_filter: "content_filter", eos: "stop", end_turn: "stop" }
    for (const [reason, finishReason] of Object.entries(reasons))
      assert.deepInclude(Either.getOrThrow(reasonOf(reason)), { finishReason })
  })

  it("OpenAiAnswer leaves out details of the usage that are no counts", () => {
    for (const details of [null, "none", [], { cached_tokens: null, reasoning_tokens: 1.5 }, { cached_tokens: -1 }]) {
      const chunk = Schema.decodeUnknownSync(OpenAiStreamEvent)({
        choices: [{ delta: { content: "Hello" }, finish_reason: "stop" }],
        usage: {
          prompt_tokens: 3,
          completion_tokens: 2,
          prompt_tokens_details: details,
          completion_tokens_details: details
        }
      })
      assert.notProperty(chunk, "error")
      const [answer] = addOpenAiChunk(emptyOpenAiAnswer, "error" in chunk ? { choices: [] } : chunk)
      assert.deepStrictEqual(answer.usage, { promptTokens: 3, completionTokens: 2, totalTokens: 5 })
    }
  })
})

describe("a refusal", () => {
  const key = Redacted.make("sk-very-secret")
  const read = (status: number | null, error: Parameters<typeof readOpenAiError>[0] = {}) =>
    toProviderFailure({ provider: "openai", apiKey: key, classify: classifyOpenAiFailure })(
      readOpenAiError(error, status, undefined)
    )

  it("classifyOpenAiFailure uses the status, and the code or type of an error without a status", () => {
    const kinds = {
      400: "refused",
      401: "unauthorized",
      402: "unauthorized",
      403: "refused",
      404: "refused",
      408: "timeout",
      429: "rate-limited",
      500: "overloaded",
      529: "overloaded"
    }
    for (const [status, kind] of Object.entries(kinds)) assert.strictEqual(read(Number(status)).kind, kind, status)
    assert.strictEqual(read(429, { code: "insufficient_quota" }).kind, "unauthorized")
    assert.strictEqual(read(null, { code: 429 }).kind, "rate-limited")
    assert.strictEqual(read(null, { code: "rate_limit_exceeded" }).kind, "rate-limited")
    assert.strictEqual(read(null, { type: "server_error" }).kind, "overloaded")
    assert.strictEqual(read(null, { type: "invalid_request_error" }).kind, "refused")
    assert.strictEqual(read(null, "something broke").kind, "overloaded")
  })

  it("readOpenAiError quotes the vendor, but no page and no key", () => {
    assert.strictEqual(
      read(400, { message: "max_tokens\nis too large" }).reason,
      "answered 400: max_tokens is too large"
    )
    assert.notInclude(read(401, { message: "Incorrect API key provided: sk-ve*****ret" }).reason, "sk-")
    assert.strictEqual(read(500, { message: "debug: sk-very-secret" }).reason, "answered 500: debug: <key>")
    const page = readOpenAiErrorBody("<html>Bad gateway</html>", 502, Headers.empty, 0)
    assert.strictEqual(
      toProviderFailure({ provider: "openai", apiKey: key, classify: classifyOpenAiFailure })(page).reason,
      "answered 502"
    )
  })
})
