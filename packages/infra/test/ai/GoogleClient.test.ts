import { makeChunkSource, streamFromSource } from "@berth/domain/ai/streams/ChunkSource"
import { makeGoogleRequest } from "@berth/infra/ai/google/GoogleRequest"
import {
  classifyGoogleFailure,
  failOnStreamError,
  findStreamError,
  readGoogleError,
  readGoogleErrorBody
} from "@berth/infra/ai/google/GoogleErrors"
import { fromGoogleModelName, toGoogleModelName } from "@berth/infra/ai/google/GoogleModelName"
import {
  addGoogleChunk,
  finishGoogleAnswer,
  isLastGoogleChunk,
  emptyGoogleAnswer
} from "@berth/infra/ai/google/GoogleAnswer"
import type { GoogleAnswerChunk } from "@berth/infra/ai/google/GoogleBodies"
import { toProviderFailure } from "@berth/infra/ai/vendor/ProviderFailure"
import { Headers } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Either, FastCheck, Option, Redacted, Stream } from "effect"
import { assertMatches } from "../../../../test/support/Matching.ts"

describe("model names", () => {
  it("toGoogleModelName returns Google's names, and fromGoogleModelName inverts it", () => {
    assert.strictEqual(toGoogleModelName("google/gemini-2.5-pro"), "gemini-2.5-pro")
    assert.strictEqual(fromGoogleModelName("models/gemini-2.5-pro"), "google/gemini-2.5-pro")
  })
})

describe("a request", () => {
  it("makeGoogleRequest omits options that are not set", () => {
    assert.deepStrictEqual(makeGoogleRequest("google/gemini-2.5-pro", [{ role: "user", content: "Hi" }], {}), {
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      generationConfig: {}
    })
  })

  it("makeGoogleRequest names the assistant's role model", () => {
    const { contents } = makeGoogleRequest(
      "google/gemini-2.5-pro",
      [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Hello" },
        { role: "user", content: "Well?" }
      ],
      {}
    )
    assert.deepStrictEqual(
      contents.map(({ role }) => role),
      ["user", "model", "user"]
    )
  })
})

const candidate = (text: string, finishReason?: string): GoogleAnswerChunk => ({
  candidates: [{ content: { parts: [{ text }] }, ...(finishReason === undefined ? {} : { finishReason }) }]
})

describe("an answer", () => {
  const read = (...chunks: ReadonlyArray<GoogleAnswerChunk>) =>
    chunks.reduce<readonly [typeof emptyGoogleAnswer, string]>(
      ([answer, text], chunk) => {
        const [next, piece] = addGoogleChunk(answer, chunk)
        return [next, text + piece]
      },
      [emptyGoogleAnswer, ""]
    )

  it("GoogleAnswer has the text without thoughts, and counts their tokens", () => {
    const thought: GoogleAnswerChunk = {
      candidates: [{ content: { parts: [{ text: "Hm", thought: true }, { text: "Hel" }, {}] } }],
      usageMetadata: { promptTokenCount: 10, thoughtsTokenCount: 5, totalTokenCount: 15 }
    }
    const counted: GoogleAnswerChunk = {
      ...candidate("lo", "STOP"),
      usageMetadata: {
        promptTokenCount: 10,
        cachedContentTokenCount: 8,
        toolUsePromptTokenCount: 1,
        candidatesTokenCount: 3,
        thoughtsTokenCount: 20,
        totalTokenCount: 34
      }
    }
    const [answer, text] = read(thought, counted)
    assert.strictEqual(text, "Hello")
    assert.deepStrictEqual(
      finishGoogleAnswer(answer),
      Either.right({
        type: "done",
        finishReason: "stop",
        usage: { promptTokens: 11, completionTokens: 23, totalTokens: 34, cachedTokens: 8, reasoningTokens: 20 }
      })
    )
  })

  it("GoogleAnswer accepts usage after the finish reason", () => {
    const [answer] = read(candidate("Hi", "MAX_TOKENS"), { usageMetadata: { promptTokenCount: 4 } })
    assert.deepStrictEqual(
      finishGoogleAnswer(answer),
      Either.right({
        type: "done",
        finishReason: "length",
        usage: { promptTokens: 4, completionTokens: 0, totalTokens: 4 }
      })
    )
  })

  it("GoogleAnswer fails without content or an end, and when it is withheld", () => {
    const failure = (...chunks: ReadonlyArray<GoogleAnswerChunk>) => Either.flip(finishGoogleAnswer(read(...chunks)[0]))
    assertMatches(failure(), { right: { _tag: "VendorAnswerMalformed" } })
    assertMatches(failure(candidate("Hi")), { right: { _tag: "VendorAnswerMalformed" } })
    assertMatches(failure(candidate("Hi"), candidate("", "SAFETY")), {
      right: { _tag: "VendorAnswerWithheld", reason: "SAFETY" }
    })
    assertMatches(failure({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }), {
      right: { _tag: "VendorAnswerWithheld", reason: "PROHIBITED_CONTENT" }
    })
  })

  it("isLastGoogleChunk is true for a finish reason and for a blocked prompt", () => {
    assert.isFalse(isLastGoogleChunk(candidate("Hi")))
    assert.isFalse(isLastGoogleChunk({ promptFeedback: {} }))
    assert.isTrue(isLastGoogleChunk(candidate("", "STOP")))
    assert.isTrue(isLastGoogleChunk({ promptFeedback: { blockReason: "SAFETY" } }))
  })
})

describe("a refusal", () => {
  const read = (status: number, error: unknown) =>
    toProviderFailure({ provider: "google", apiKey: Redacted.make("AIza-secret"), classify: classifyGoogleFailure })(
      readGoogleErrorBody(JSON.stringify({ error }), status, Headers.empty, 0)
    )

  it("readGoogleError reads the reason and the retry delay from the details", () => {
    const details = [
      "not an object",
      { "@type": "type.googleapis.com/google.rpc.Help", links: [] },
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.25s" }
    ]
    assertMatches(readGoogleError({ code: 400, status: "INVALID_ARGUMENT", details }, null, undefined), {
      status: 400,
      code: "API_KEY_INVALID",
      type: "INVALID_ARGUMENT",
      retryAfter: Duration.millis(1250)
    })
    assert.isUndefined(readGoogleError({ details: [{ retryDelay: "soon" }] }, 429, undefined).retryAfter)
  })

  it("classifyGoogleFailure uses the HTTP status of an error without a code, and the code without a status", () => {
    assert.strictEqual(read(403, {}).kind, "refused")
    assert.strictEqual(read(429, {}).kind, "rate-limited")
    assert.strictEqual(
      classifyGoogleFailure(readGoogleError({ status: "RESOURCE_EXHAUSTED" }, null, undefined)),
      "rate-limited"
    )
    assert.strictEqual(classifyGoogleFailure(readGoogleError({}, null, undefined)), "overloaded")
  })

  it("readGoogleErrorBody redacts the key", () => {
    assert.strictEqual(
      read(500, { code: 500, status: "INTERNAL", message: "debug: AIza-secret" }).reason,
      "answered 500: debug: <key>"
    )
  })
})

describe("an error in mid-stream", () => {
  const error = JSON.stringify({ error: { code: 503, status: "UNAVAILABLE", message: "Busy" } }, null, 2)
  const stream = `data: {"candidates":[]}\r\n\r\n${error}\n`

  it.prop(
    "failOnStreamError finds an error in mid-stream wherever the text is cut",
    [FastCheck.array(FastCheck.nat({ max: stream.length }))],
    ([cuts]) => {
      const at = [0, ...cuts.sort((a, b) => a - b), stream.length]
      const pieces = at.slice(1).map((to, index) => stream.slice(at[index], to))
      const failure = Effect.runSync(
        Effect.flip(
          Stream.runDrain(
            Stream.unwrapScoped(
              Effect.map(makeChunkSource(Stream.fromIterable(pieces)), (pull) =>
                streamFromSource(failOnStreamError(pull))
              )
            )
          )
        )
      )
      assertMatches(failure, { _tag: "VendorRequestRejected", status: 503, type: "UNAVAILABLE" })
    }
  )

  it("findStreamError ignores every other remaining text", () => {
    for (const text of ["", `data: {"candidates":[]}\r\n\r\n`, `data: ${error}`, "{}", `${error}\n\ndata: {}\n\n`]) {
      assert.deepStrictEqual(findStreamError(text), Option.none(), text)
    }
  })
})
