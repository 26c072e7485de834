import { pullOfStream, streamOf } from "@berth/domain/ai/Pull"
import { generateRequest } from "@berth/infra/ai/google-wire/GenerateRequest"
import { kindOfRefusal } from "@berth/infra/ai/google-wire/KindOfRefusal"
import { catalogueId, wireModel } from "@berth/infra/ai/google-wire/ModelName"
import { addChunk, endAnswer, isLast, nothing } from "@berth/infra/ai/google-wire/ReadAnswer"
import { failOnStrayError, strayErrorIn } from "@berth/infra/ai/google-wire/StrayError"
import type { AnswerChunk } from "@berth/infra/ai/google-wire/WireBodies"
import { refusalOf, refusalOfBody } from "@berth/infra/ai/google-wire/WireRefusals"
import { readFailure } from "@berth/infra/ai/wire/ReadFailure"
import { Headers } from "@effect/platform"
import { describe, expect, it } from "@effect/vitest"
import { Duration, Effect, Either, FastCheck, Option, Redacted, Stream } from "effect"

describe("model names", () => {
  it("are written as Google wants them, and come back", () => {
    expect(wireModel("google/gemini-2.5-pro")).toBe("gemini-2.5-pro")
    expect(catalogueId("models/gemini-2.5-pro")).toBe("google/gemini-2.5-pro")
  })
})

describe("a request", () => {
  it("leaves out what was not set", () => {
    expect(generateRequest("google/gemini-2.5-pro", [{ role: "user", content: "Hi" }], {})).toEqual({
      contents: [{ role: "user", parts: [{ text: "Hi" }] }],
      generationConfig: {}
    })
  })

  it("calls the assistant a model", () => {
    const { contents } = generateRequest(
      "google/gemini-2.5-pro",
      [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Hello" },
        { role: "user", content: "Well?" }
      ],
      {}
    )
    expect(contents.map(({ role }) => role)).toEqual(["user", "model", "user"])
  })
})

const candidate = (text: string, finishReason?: string): AnswerChunk => ({
  candidates: [{ content: { parts: [{ text }] }, ...(finishReason === undefined ? {} : { finishReason }) }]
})

describe("an answer", () => {
  const read = (...chunks: ReadonlyArray<AnswerChunk>) =>
    chunks.reduce<readonly [typeof nothing, string]>(
      ([answer, text], chunk) => {
        const [next, piece] = addChunk(answer, chunk)
        return [next, text + piece]
      },
      [nothing, ""]
    )

  it("is its text without its thoughts, which are counted", () => {
    const thought: AnswerChunk = {
      candidates: [{ content: { parts: [{ text: "Hm", thought: true }, { text: "Hel" }, {}] } }],
      usageMetadata: { promptTokenCount: 10, thoughtsTokenCount: 5, totalTokenCount: 15 }
    }
    const counted: AnswerChunk = {
      ...candidate("lo", "STOP"),
      usageMetadata: {
        promptTokenCount: 10,
        toolUsePromptTokenCount: 1,
        candidatesTokenCount: 3,
        thoughtsTokenCount: 20,
        totalTokenCount: 34
      }
    }
    const [answer, text] = read(thought, counted)
    expect(text).toBe("Hello")
    expect(endAnswer(answer)).toEqual(
      Either.right({
        type: "end",
        finishReason: "stop",
        usage: { promptTokens: 11, completionTokens: 23, totalTokens: 34 }
      })
    )
  })

  it("may be counted after its last word", () => {
    const [answer] = read(candidate("Hi", "MAX_TOKENS"), { usageMetadata: { promptTokenCount: 4 } })
    expect(endAnswer(answer)).toEqual(
      Either.right({
        type: "end",
        finishReason: "length",
        usage: { promptTokens: 4, completionTokens: 0, totalTokens: 4 }
      })
    )
  })

  it("is none when it holds nothing, was cut short, or was withheld", () => {
    const failure = (...chunks: ReadonlyArray<AnswerChunk>) => Either.flip(endAnswer(read(...chunks)[0]))
    expect(failure()).toMatchObject({ right: { _tag: "AnswerIsNonsense" } })
    expect(failure(candidate("Hi"))).toMatchObject({ right: { _tag: "AnswerIsNonsense" } })
    expect(failure(candidate("Hi"), candidate("", "SAFETY"))).toMatchObject({
      right: { _tag: "AnswerIsWithheld", reason: "SAFETY" }
    })
    expect(failure({ promptFeedback: { blockReason: "PROHIBITED_CONTENT" } })).toMatchObject({
      right: { _tag: "AnswerIsWithheld", reason: "PROHIBITED_CONTENT" }
    })
  })

  it("is over with a reason to end, and with a prompt that is blocked", () => {
    expect(isLast(candidate("Hi"))).toBe(false)
    expect(isLast({ promptFeedback: {} })).toBe(false)
    expect(isLast(candidate("", "STOP"))).toBe(true)
    expect(isLast({ promptFeedback: { blockReason: "SAFETY" } })).toBe(true)
  })
})

describe("a refusal", () => {
  const read = (status: number, error: unknown) =>
    readFailure({ provider: "google", apiKey: Redacted.make("AIza-secret"), kindOf: kindOfRefusal })(
      refusalOfBody(JSON.stringify({ error }), status, Headers.empty, 0)
    )

  it("says in its details what is wrong and when to come back", () => {
    const details = [
      "not an object",
      { "@type": "type.googleapis.com/google.rpc.Help", links: [] },
      { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "1.25s" }
    ]
    expect(refusalOf({ code: 400, status: "INVALID_ARGUMENT", details }, null, undefined)).toMatchObject({
      status: 400,
      code: "API_KEY_INVALID",
      type: "INVALID_ARGUMENT",
      retryAfter: Duration.millis(1250)
    })
    expect(refusalOf({ details: [{ retryDelay: "soon" }] }, 429, undefined).retryAfter).toBe(undefined)
  })

  it("is told from its status when it has no words, and from its word when it has no status", () => {
    expect(read(403, {}).kind).toBe("refused")
    expect(read(429, {}).kind).toBe("rate-limited")
    expect(kindOfRefusal(refusalOf({ status: "RESOURCE_EXHAUSTED" }, null, undefined))).toBe("rate-limited")
    expect(kindOfRefusal(refusalOf({}, null, undefined))).toBe("overloaded")
  })

  it("gives away no key", () => {
    expect(read(500, { code: 500, status: "INTERNAL", message: "debug: AIza-secret" }).reason).toBe(
      "answered 500: debug: <key>"
    )
  })
})

describe("an error in mid-stream", () => {
  const error = JSON.stringify({ error: { code: 503, status: "UNAVAILABLE", message: "Busy" } }, null, 2)
  const stream = `data: {"candidates":[]}\r\n\r\n${error}\n`

  it.prop("is found however the text is cut", [FastCheck.array(FastCheck.nat({ max: stream.length }))], ([cuts]) => {
    const at = [0, ...cuts.sort((a, b) => a - b), stream.length]
    const pieces = at.slice(1).map((to, index) => stream.slice(at[index], to))
    const failure = Effect.runSync(
      Effect.flip(
        Stream.runDrain(
          Stream.unwrapScoped(
            Effect.map(pullOfStream(Stream.fromIterable(pieces)), (pull) => streamOf(failOnStrayError(pull)))
          )
        )
      )
    )
    expect(failure).toMatchObject({ _tag: "VendorRefused", status: 503, type: "UNAVAILABLE" })
  })

  it("is nothing else that is left over", () => {
    for (const text of ["", `data: {"candidates":[]}\r\n\r\n`, `data: ${error}`, "{}", `${error}\n\ndata: {}\n\n`]) {
      expect(strayErrorIn(text), text).toEqual(Option.none())
    }
  })
})
