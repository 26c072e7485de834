import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import { classifyAnthropicFailure, readAnthropicErrorBody } from "@berth/infra/ai/anthropic/AnthropicErrors"
import { makeAnthropicRequest } from "@berth/infra/ai/anthropic/AnthropicRequest"
import { fromAnthropicModelName, toAnthropicModelName } from "@berth/infra/ai/anthropic/AnthropicModelName"
import {
  addAnthropicEvent,
  finishAnthropicAnswer,
  emptyAnthropicAnswer
} from "@berth/infra/ai/anthropic/AnthropicAnswer"
import type { AnthropicAnswerEvent } from "@berth/infra/ai/anthropic/AnthropicBodies"
import { shippedModels } from "@berth/infra/ai/catalog/ModelSnapshot"
import { toProviderFailure } from "@berth/infra/ai/vendor/ProviderFailure"
import { Headers } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Either, Redacted } from "effect"
import { assertMatches } from "../../../../test/support/Matching.ts"

const messages: ReadonlyArray<ChatMessage> = [{ role: "user", content: "Hi" }]

describe("model names", () => {
  it("toAnthropicModelName returns Anthropic's names", () => {
    assert.strictEqual(toAnthropicModelName("anthropic/claude-opus-4-6"), "claude-opus-4-6")
    assert.strictEqual(toAnthropicModelName("anthropic/claude-opus-5"), "claude-opus-5")
    assert.strictEqual(toAnthropicModelName("anthropic/claude-sonnet-4"), "claude-sonnet-4-0")
    assert.strictEqual(toAnthropicModelName("anthropic/claude-3-haiku"), "claude-3-haiku-20240307")
    assert.strictEqual(toAnthropicModelName("anthropic/claude-3-7-sonnet"), "claude-3-7-sonnet-latest")
    assert.strictEqual(toAnthropicModelName("anthropic/claude-3-5-haiku-20241022"), "claude-3-5-haiku-20241022")
  })

  it("fromAnthropicModelName inverts toAnthropicModelName, with and without a date", () => {
    for (const { id } of shippedModels.filter((model) => model.id.startsWith("anthropic/"))) {
      assert.strictEqual(fromAnthropicModelName(toAnthropicModelName(id)), id)
    }
    assert.strictEqual(fromAnthropicModelName("claude-haiku-4-5-20251001"), "anthropic/claude-haiku-4-5")
  })
})

describe("a request", () => {
  const body = (name: string, options: Parameters<typeof makeAnthropicRequest>[2]) =>
    makeAnthropicRequest(`anthropic/${name}`, messages, options)

  it("makeAnthropicRequest always has max_tokens within the model's limit", () => {
    assert.strictEqual(body("claude-opus-4-6", {}).max_tokens, 32_000)
    assert.strictEqual(body("claude-opus-4-6", { maxTokens: 100_000 }).max_tokens, 100_000)
    assert.strictEqual(body("claude-3-haiku", {}).max_tokens, 4_096)
    assert.strictEqual(body("claude-3-haiku", { maxTokens: 100_000 }).max_tokens, 4_096)
    assert.strictEqual(body("claude-3-5-sonnet", {}).max_tokens, 8_192)
    assert.strictEqual(body("claude-3-7-sonnet", {}).max_tokens, 32_000)
    assert.strictEqual(body("claude-3-haiku", { maxTokens: 7 }).max_tokens, 7)
  })

  it("makeAnthropicRequest has only the sampling options that the model supports", () => {
    const messages = [
      "claude-3-haiku",
      "claude-3-5-haiku-20241022",
      "claude-sonnet-4",
      "claude-opus-4-1",
      "claude-opus-4-6"
    ]
    for (const name of messages) {
      assertMatches(body(name, { temperature: 0.5, topP: 0.9 }), { temperature: 0.5 }, name)
      assert.notProperty(body(name, { temperature: 0.5, topP: 0.9 }), "top_p", name)
      assertMatches(body(name, { topP: 0.9 }), { top_p: 0.9 }, name)
      assertMatches(body(name, { temperature: 1.5 }), { temperature: 1 }, name)
    }
    for (const name of ["claude-opus-4-7", "claude-opus-5", "claude-sonnet-5-5", "claude-fable-5"]) {
      assert.deepStrictEqual(
        Object.keys(body(name, { temperature: 0.5, topP: 0.9 })),
        ["model", "max_tokens", "messages", "stream"],
        name
      )
    }
  })
})

describe("an answer", () => {
  const read = (...events: ReadonlyArray<AnthropicAnswerEvent>) =>
    events.reduce<readonly [typeof emptyAnthropicAnswer, string]>(
      ([answer, text], event) => {
        const [next, piece] = addAnthropicEvent(answer, event)
        return [next, text + piece]
      },
      [emptyAnthropicAnswer, ""]
    )
  const start: AnthropicAnswerEvent = {
    type: "message_start",
    message: {
      usage: { input_tokens: 10, cache_creation_input_tokens: 5, cache_read_input_tokens: 100, output_tokens: 1 }
    }
  }
  const textDelta = (text: string): AnthropicAnswerEvent => ({
    type: "content_block_delta",
    delta: { type: "text_delta", text }
  })
  const stop = (stop_reason: string): AnthropicAnswerEvent => ({
    type: "message_delta",
    delta: { stop_reason },
    usage: { input_tokens: null, output_tokens: 42 }
  })

  it("AnthropicAnswer has the text without thoughts, and counts cached tokens", () => {
    const thought: AnthropicAnswerEvent = { type: "content_block_delta", delta: { type: "thinking_delta" } }
    const [answer, text] = read(start, thought, textDelta("Hel"), textDelta("lo"), stop("end_turn"))
    assert.strictEqual(text, "Hello")
    assert.deepStrictEqual(
      finishAnthropicAnswer(answer),
      Either.right({
        type: "done",
        finishReason: "stop",
        usage: { promptTokens: 115, completionTokens: 42, totalTokens: 157, cachedTokens: 100 }
      })
    )
  })

  it("AnthropicAnswer maps stop reasons to OpenAI's finish reasons", () => {
    const reasonOf = (reason: string) => Either.getOrThrow(finishAnthropicAnswer(read(start, stop(reason))[0]))
    const reasons = {
      end_turn: "stop",
      stop_sequence: "stop",
      max_tokens: "length",
      model_context_window_exceeded: "length",
      pause_turn: "stop"
    }
    for (const [reason, word] of Object.entries(reasons)) assertMatches(reasonOf(reason), { finishReason: word })
  })

  it("AnthropicAnswer fails without a start or an end, and when it is withheld", () => {
    const failure = (...events: ReadonlyArray<AnthropicAnswerEvent>) =>
      Either.flip(finishAnthropicAnswer(read(...events)[0]))
    assertMatches(failure(textDelta("Hi"), stop("end_turn")), { right: { _tag: "VendorAnswerMalformed" } })
    assertMatches(failure(start, textDelta("Hi")), { right: { _tag: "VendorAnswerMalformed" } })
    assertMatches(failure(start, textDelta("Hi"), stop("refusal")), {
      right: { _tag: "VendorAnswerWithheld", reason: "refusal" }
    })
    const explained: AnthropicAnswerEvent = {
      type: "message_delta",
      delta: { stop_reason: "refusal", stop_details: { explanation: "It is about poison" } }
    }
    assertMatches(failure(start, explained), { right: { reason: "It is about poison" } })
  })
})

describe("a refusal", () => {
  const read = (status: number, error: unknown, headers: Record<string, string> = {}) =>
    toProviderFailure({
      provider: "anthropic",
      apiKey: Redacted.make("sk-ant-secret"),
      classify: classifyAnthropicFailure
    })(readAnthropicErrorBody(JSON.stringify({ type: "error", error }), status, Headers.fromInput(headers), 0))

  it("readAnthropicErrorBody quotes the vendor and returns the retry delay", () => {
    const refused = read(429, { type: "rate_limit_error", message: "Slow\ndown" }, { "retry-after": "12" })
    assertMatches(refused, { kind: "rate-limited", reason: "answered 429: Slow down" })
    assert.deepStrictEqual(refused.retryAfter, Duration.seconds(12))
  })

  it("readAnthropicErrorBody accepts any details", () => {
    for (const details of [undefined, null, [], "x", { error_code: 7 }, { error_code: "ramp_limit_exceeded" }]) {
      assertMatches(read(429, { type: "rate_limit_error", message: "No", details }), {
        kind: "rate-limited",
        reason: "answered 429: No"
      })
    }
    assert.strictEqual(
      read(400, { type: "invalid_request_error", details: { error_code: "organization_on_hold" } }).kind,
      "unauthorized"
    )
  })

  it("classifyAnthropicFailure uses the status of an error without a type", () => {
    for (const [status, kind] of [
      [403, "refused"],
      [409, "refused"],
      [502, "overloaded"],
      [529, "overloaded"]
    ] as const) {
      assert.strictEqual(read(status, {}).kind, kind)
    }
  })
})
