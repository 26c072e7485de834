import type { ChatMessage } from "@berth/domain/ai/ModelChat"
import { catalogueId, completionRequest, openRouterId, wireModel } from "@berth/infra/ai/openai-wire/CompletionRequest"
import { kindOfRefusal } from "@berth/infra/ai/openai-wire/KindOfRefusal"
import { addChunk, endAnswer, nothing } from "@berth/infra/ai/openai-wire/ReadAnswer"
import { refusalOf, refusalOfBody } from "@berth/infra/ai/openai-wire/WireRefusals"
import { readFailure } from "@berth/infra/ai/wire/ReadFailure"
import { shippedModels } from "@berth/infra/ai/catalogue/Snapshot"
import { Headers } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Either, Redacted } from "effect"

const messages: ReadonlyArray<ChatMessage> = [{ role: "user", content: "Hi" }]

describe("model ids", () => {
  it("are written as each provider wants them", () => {
    expect(wireModel("openrouter", "anthropic/claude-opus-4-6")).toBe("anthropic/claude-opus-4.6")
    expect(wireModel("openrouter", "anthropic/claude-3-haiku")).toBe("anthropic/claude-3-haiku")
    expect(wireModel("openrouter", "openai/gpt-4.1")).toBe("openai/gpt-4.1")
    expect(wireModel("openai", "openai/gpt-4.1")).toBe("gpt-4.1")
    expect(wireModel("groq", "groq/openai/gpt-oss-120b")).toBe("openai/gpt-oss-120b")
    expect(openRouterId("anthropic/claude-3-5-haiku-20241022")).toBe("anthropic/claude-3.5-haiku-20241022")
    expect(openRouterId("anthropic/claude-opus-4-8-fast")).toBe("anthropic/claude-opus-4.8-fast")
  })

  it("come back as they were", () => {
    for (const { id } of shippedModels) expect(catalogueId(openRouterId(id))).toBe(id)
  })
})

describe("a request", () => {
  const options = { temperature: 0.5, topP: 0.9, maxTokens: 100 }

  it("says what every server understands", () => {
    expect(completionRequest("openrouter", "openai/gpt-5", messages, options)).toEqual({
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
    expect(Object.keys(completionRequest("groq", "groq/llama", messages, {}))).toEqual([
      "model",
      "messages",
      "stream",
      "stream_options"
    ])
  })

  it("writes OpenAI's own newer models what they accept", () => {
    const body = (id: string) => completionRequest("openai", id, messages, options)
    expect(body("openai/gpt-5.1")).toMatchObject({ model: "gpt-5.1", max_completion_tokens: 100 })
    expect(body("openai/gpt-5.1")).not.toHaveProperty("max_tokens")
    expect(body("openai/o3-mini")).not.toHaveProperty("temperature")
    expect(body("openai/gpt-5.2-chat")).toMatchObject({ temperature: 0.5, max_completion_tokens: 100 })
    expect(body("openai/gpt-4o")).toMatchObject({ temperature: 0.5, max_tokens: 100 })
  })
})

describe("an answer", () => {
  it("is its chunks", () => {
    const [begun, first] = addChunk(nothing, { choices: [{ delta: { content: "Hel" } }] })
    const [finished, second] = addChunk(begun, { choices: [{ delta: { content: "lo" }, finish_reason: "stop" }] })
    const [counted, third] = addChunk(finished, { choices: [], usage: { prompt_tokens: 3, completion_tokens: 2 } })
    expect([first, second, third]).toEqual(["Hel", "lo", ""])
    expect(endAnswer(counted)).toEqual(
      Either.right({
        type: "end",
        finishReason: "stop",
        usage: { promptTokens: 3, completionTokens: 2, totalTokens: 5 }
      })
    )
    expect(Either.isLeft(endAnswer(begun))).toBe(true)
    expect(Either.isLeft(endAnswer(nothing))).toBe(true)
  })
})

describe("a refusal", () => {
  const key = Redacted.make("sk-very-secret")
  const read = (status: number | null, error: Parameters<typeof refusalOf>[0] = {}) =>
    readFailure({ provider: "openai", apiKey: key, kindOf: kindOfRefusal })(refusalOf(error, status, undefined))

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
    const page = refusalOfBody("<html>Bad gateway</html>", 502, Headers.empty, 0)
    expect(readFailure({ provider: "openai", apiKey: key, kindOf: kindOfRefusal })(page).reason).toBe("answered 502")
  })
})
