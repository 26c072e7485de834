import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import {
  fromOpenRouterModelId,
  makeCompletionRequest,
  toOpenRouterModelId,
  toOpenAiModelName
} from "@berth/infra/ai/openai/OpenAiCompletionRequest"
import { classifyOpenAiFailure } from "@berth/infra/ai/openai/OpenAiFailureKind"
import { addOpenAiChunk, finishOpenAiAnswer, emptyOpenAiAnswer } from "@berth/infra/ai/openai/OpenAiAnswer"
import { readOpenAiError, readOpenAiErrorBody } from "@berth/infra/ai/openai/OpenAiErrorReader"
import { toProviderFailure } from "@berth/infra/ai/vendor/ProviderFailure"
import { shippedModels } from "@berth/infra/ai/catalog/ModelSnapshot"
import { Headers } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Either, Redacted } from "effect"

const messages: ReadonlyArray<ChatMessage> = [{ role: "user", content: "Hi" }]

describe("model ids", () => {
  it("are written as each provider wants them", () => {
    expect(toOpenAiModelName("openrouter", "anthropic/claude-opus-4-6")).toBe("anthropic/claude-opus-4.6")
    expect(toOpenAiModelName("openrouter", "anthropic/claude-3-haiku")).toBe("anthropic/claude-3-haiku")
    expect(toOpenAiModelName("openrouter", "openai/gpt-4.1")).toBe("openai/gpt-4.1")
    expect(toOpenAiModelName("openai", "openai/gpt-4.1")).toBe("gpt-4.1")
    expect(toOpenAiModelName("groq", "groq/openai/gpt-oss-120b")).toBe("openai/gpt-oss-120b")
    expect(toOpenRouterModelId("anthropic/claude-3-5-haiku-20241022")).toBe("anthropic/claude-3.5-haiku-20241022")
    expect(toOpenRouterModelId("anthropic/claude-opus-4-8-fast")).toBe("anthropic/claude-opus-4.8-fast")
  })

  it("come back as they were", () => {
    for (const { id } of shippedModels) expect(fromOpenRouterModelId(toOpenRouterModelId(id))).toBe(id)
  })
})

describe("a request", () => {
  const options = { temperature: 0.5, topP: 0.9, maxTokens: 100 }

  it("says what every server understands", () => {
    expect(makeCompletionRequest("openrouter", "openai/gpt-5", messages, options)).toEqual({
      model: "openai/gpt-5",
      messages: [{ role: "user", content: "Hi" }],
      stream: true,
      stream_options: { include_usage: true },
      temperature: 0.5,
      top_p: 0.9,
      max_tokens: 100
    })
  })

  it("leaves out what was not set", () => {
    expect(Object.keys(makeCompletionRequest("groq", "groq/llama", messages, {}))).toEqual([
      "model",
      "messages",
      "stream",
      "stream_options"
    ])
  })

  it("writes OpenAI's own newer models what they accept", () => {
    const body = (id: string) => makeCompletionRequest("openai", id, messages, options)
    expect(body("openai/gpt-5.1")).toMatchObject({ model: "gpt-5.1", max_completion_tokens: 100 })
    expect(body("openai/gpt-5.1")).not.toHaveProperty("max_tokens")
    expect(body("openai/o3-mini")).not.toHaveProperty("temperature")
    expect(body("openai/gpt-5.2-chat")).toMatchObject({ temperature: 0.5, max_completion_tokens: 100 })
    expect(body("openai/gpt-4o")).toMatchObject({ temperature: 0.5, max_tokens: 100 })
  })
})

describe("an answer", () => {
  it("is its chunks", () => {
    const [begun, first] = addOpenAiChunk(emptyOpenAiAnswer, { choices: [{ delta: { content: "Hel" } }] })
    const [finished, second] = addOpenAiChunk(begun, { choices: [{ delta: { content: "lo" }, finish_reason: "stop" }] })
    const [counted, third] = addOpenAiChunk(finished, {
      choices: [],
      usage: { prompt_tokens: 3, completion_tokens: 2 }
    })
    expect([first, second, third]).toEqual(["Hel", "lo", ""])
    expect(finishOpenAiAnswer(counted)).toEqual(
      Either.right({
        type: "done",
        finishReason: "stop",
        usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5 }
      })
    )
    expect(Either.isLeft(finishOpenAiAnswer(begun))).toBe(true)
    expect(Either.isLeft(finishOpenAiAnswer(emptyOpenAiAnswer))).toBe(true)
  })
})

describe("a refusal", () => {
  const key = Redacted.make("sk-very-secret")
  const read = (status: number | null, error: Parameters<typeof readOpenAiError>[0] = {}) =>
    toProviderFailure({ provider: "openai", apiKey: key, classify: classifyOpenAiFailure })(
      readOpenAiError(error, status, undefined)
    )

  it("is of a kind by its status, and by its words where it has none", () => {
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
    for (const [status, kind] of Object.entries(kinds)) expect(read(Number(status)).kind, status).toBe(kind)
    expect(read(429, { code: "insufficient_quota" }).kind).toBe("unauthorized")
    expect(read(null, { code: 429 }).kind).toBe("rate-limited")
    expect(read(null, { code: "rate_limit_exceeded" }).kind).toBe("rate-limited")
    expect(read(null, { type: "server_error" }).kind).toBe("overloaded")
    expect(read(null, { type: "invalid_request_error" }).kind).toBe("refused")
    expect(read(null, "something broke").kind).toBe("overloaded")
  })

  it("quotes the vendor, but neither a page nor a key", () => {
    expect(read(400, { message: "max_tokens\nis too large" }).reason).toBe("answered 400: max_tokens is too large")
    expect(read(401, { message: "Incorrect API key provided: sk-ve*****ret" }).reason).not.toContain("sk-")
    expect(read(500, { message: "debug: sk-very-secret" }).reason).toBe("answered 500: debug: <key>")
    const page = readOpenAiErrorBody("<html>Bad gateway</html>", 502, Headers.empty, 0)
    expect(toProviderFailure({ provider: "openai", apiKey: key, classify: classifyOpenAiFailure })(page).reason).toBe(
      "answered 502"
    )
  })
})
