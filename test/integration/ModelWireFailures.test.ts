import type { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import type { ModelBehavior } from "../fakes/models/FakeModelVendor.ts"
import {
  anthropicWire,
  runChat,
  connectProvider,
  googleWire,
  openAiWire,
  type ModelWire
} from "../fakes/models/ModelWires.ts"
import { assertMatches } from "../support/Matching.ts"

type Case = readonly [what: string, behavior: ModelBehavior, kind: ProviderFailed["kind"]]

const json = "application/json"
const sse = "text/event-stream"

const streamed = (body: string): ModelBehavior => ({ type: "raw", contentType: sse, body })
const refused = (status: number, error: unknown): ModelBehavior => ({ type: "refuse", status, error })

/** Failures of every protocol; `begun` are the events of a started answer. */
const failuresOfAll = (begun: string): ReadonlyArray<Case> => [
  [
    "a proxy's page",
    { type: "raw", status: 502, contentType: "text/html", body: "<h1>Bad gateway</h1>" },
    "overloaded"
  ],
  ["an error without words", { type: "raw", status: 429, contentType: json, body: "{}" }, "rate-limited"],
  ["a page in place of an answer", { type: "raw", contentType: "text/html", body: "<h1>Hi</h1>" }, "nonsense"],
  ["JSON that is none", { type: "raw", contentType: json, body: `{"choices": [` }, "nonsense"],
  ["an empty stream", streamed(""), "nonsense"],
  ["an event that is no JSON", streamed(`${begun}data: {oops\n\n`), "nonsense"],
  ["a stream cut within an event", streamed(`${begun}data: {"choices"`), "nonsense"],
  ["a stream that ends too soon", { type: "break-off", pieces: ["Hi"], by: "ending" }, "nonsense"],
  ["a connection that breaks", { type: "break-off", pieces: ["Hi"], by: "cutting" }, "unreachable"],
  ["a redirect", { type: "redirect", to: "http://127.0.0.1:9/elsewhere" }, "nonsense"]
]

const openAiBegun = `data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n`
const openAiFailures: ReadonlyArray<Case> = [
  ["a rate limit", refused(429, { message: "Slow down" }), "rate-limited"],
  ["a quota that is used up", refused(429, { code: "insufficient_quota" }), "unauthorized"],
  ["an overload", refused(503, { message: "Busy" }), "overloaded"],
  ["a refused parameter", refused(400, { message: "No" }), "refused"],
  ["an answer of another type", { type: "raw", contentType: json, body: `{"choices": "none"}` }, "nonsense"],
  ["an answer without choices", { type: "raw", contentType: json, body: `{"choices": []}` }, "nonsense"],
  [
    "an error with status 200",
    { type: "raw", contentType: json, body: `{"error":{"code":502,"message":"x"}}` },
    "overloaded"
  ],
  ["a stream without choices", streamed(`data: {"choices":[]}\n\ndata: [DONE]\n\n`), "nonsense"],
  [
    "an event of wrong types",
    streamed(`data: {"choices":[{"delta":{"content":7},"finish_reason":"stop"}]}\n\n`),
    "nonsense"
  ],
  ["an end before the last word", streamed(`${openAiBegun}data: [DONE]\n\n`), "nonsense"],
  [
    "an error in mid-stream",
    streamed(`${openAiBegun}data: {"error":{"code":429,"message":"Slow down"}}\n\n`),
    "rate-limited"
  ]
]

const anthropicStart = `event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":7}}}\n\n`
const anthropicText = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n`
const anthropicDelta = (reason: string) =>
  `data: {"type":"message_delta","delta":{"stop_reason":"${reason}"},"usage":{"output_tokens":1}}\n\n`
const anthropicStop = `event: message_stop\ndata: {"type":"message_stop"}\n\n`
const anthropicBegun = anthropicStart + anthropicText
const anthropicError = (type: string) =>
  `event: error\ndata: {"type":"error","error":{"type":"${type}","message":"Oh"}}\n\n`
const anthropicFailures: ReadonlyArray<Case> = [
  ["a refused parameter", refused(400, { type: "invalid_request_error", message: "No" }), "refused"],
  [
    "an account without credit",
    refused(400, { type: "invalid_request_error", message: "Your credit balance is too low to access the API." }),
    "unauthorized"
  ],
  [
    "a budget that is spent",
    refused(400, { type: "invalid_request_error", message: "You have reached your specified API usage limits." }),
    "unauthorized"
  ],
  [
    "a contract that is used up",
    refused(429, {
      type: "rate_limit_error",
      message: "No",
      details: { error_code: "contract_spend_limit_reached" }
    }),
    "unauthorized"
  ],
  ["a bill that is not paid", refused(402, { type: "billing_error", message: "No" }), "unauthorized"],
  ["a key that is wrong", refused(401, { type: "authentication_error", message: "invalid x-api-key" }), "unauthorized"],
  ["a key that may not", refused(403, { type: "permission_error", message: "No" }), "unauthorized"],
  ["a model that is not there", refused(404, { type: "not_found_error", message: "model: x" }), "refused"],
  ["a request that is too large", refused(413, { type: "request_too_large", message: "No" }), "refused"],
  ["a rate limit", refused(429, { type: "rate_limit_error", message: "Slow down" }), "rate-limited"],
  ["a fault of its own", refused(500, { type: "api_error", message: "Oops" }), "overloaded"],
  ["a time that is over", refused(504, { type: "timeout_error", message: "Late" }), "timeout"],
  ["an overload", refused(529, { type: "overloaded_error", message: "Overloaded" }), "overloaded"],
  ["an answer in one piece, which was not asked for", { type: "raw", contentType: json, body: "{}" }, "nonsense"],
  ["a stream without a beginning", streamed(anthropicText + anthropicDelta("end_turn") + anthropicStop), "nonsense"],
  ["an end before the last word", streamed(`${anthropicBegun}${anthropicStop}`), "nonsense"],
  [
    "an event of wrong types",
    streamed(`${anthropicStart}${anthropicText.replace(`"Hi"`, "7")}${anthropicDelta("end_turn")}${anthropicStop}`),
    "nonsense"
  ],
  ["an overload in mid-stream", streamed(anthropicBegun + anthropicError("overloaded_error")), "overloaded"],
  ["a rate limit in mid-stream", streamed(anthropicBegun + anthropicError("rate_limit_error")), "rate-limited"],
  ["an answer that is withheld", streamed(`${anthropicBegun}${anthropicDelta("refusal")}${anthropicStop}`), "refused"]
]

const googleChunk = (candidate: string) => `data: {"candidates":[${candidate}]}\r\n\r\n`
const googleBegun = googleChunk(`{"content":{"role":"model","parts":[{"text":"Hi"}]}}`)
const googleError = (code: number, status: string) =>
  JSON.stringify({ error: { code, status, message: "Oh" } }, null, 2)
const keyIsInvalid = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }
const googleFailures: ReadonlyArray<Case> = [
  ["a refused parameter", refused(400, { code: 400, status: "INVALID_ARGUMENT", message: "No" }), "refused"],
  [
    "a key that is wrong",
    refused(400, { code: 400, status: "INVALID_ARGUMENT", message: "API key not valid.", details: [keyIsInvalid] }),
    "unauthorized"
  ],
  ["a place without service", refused(400, { code: 400, status: "FAILED_PRECONDITION", message: "No" }), "refused"],
  ["a key that may not", refused(403, { code: 403, status: "PERMISSION_DENIED", message: "No" }), "unauthorized"],
  ["a model that is not there", refused(404, { code: 404, status: "NOT_FOUND", message: "No" }), "refused"],
  ["a rate limit", refused(429, { code: 429, status: "RESOURCE_EXHAUSTED", message: "Slow down" }), "rate-limited"],
  ["a fault of its own", refused(500, { code: 500, status: "INTERNAL", message: "Oops" }), "overloaded"],
  ["an overload", refused(503, { code: 503, status: "UNAVAILABLE", message: "Busy" }), "overloaded"],
  ["a time that is over", refused(504, { code: 504, status: "DEADLINE_EXCEEDED", message: "Late" }), "timeout"],
  [
    "an error in an array",
    { type: "raw", status: 403, contentType: json, body: `[${googleError(403, "PERMISSION_DENIED")}]` },
    "unauthorized"
  ],
  ["an answer in one piece, which was not asked for", { type: "raw", contentType: json, body: "[{}]" }, "nonsense"],
  ["a stream without a candidate", streamed(`data: {"usageMetadata":{"promptTokenCount":7}}\r\n\r\n`), "nonsense"],
  [
    "an event of wrong types",
    streamed(googleChunk(`{"content":{"parts":[{"text":7}]},"finishReason":"STOP"}`)),
    "nonsense"
  ],
  [
    "an error in mid-stream",
    streamed(`${googleBegun}data: {"error":{"code":503,"status":"UNAVAILABLE"}}\n\n`),
    "overloaded"
  ],
  ["a bare error in mid-stream", streamed(googleBegun + googleError(429, "RESOURCE_EXHAUSTED")), "rate-limited"],
  ["a bare error in place of a stream", streamed(`${googleError(500, "INTERNAL")}\n`), "overloaded"],
  ["a prompt that is blocked", streamed(`data: {"promptFeedback":{"blockReason":"SAFETY"}}\r\n\r\n`), "refused"],
  ...["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "OTHER"].map((reason): Case => [
    `an answer that is withheld for ${reason}`,
    streamed(googleBegun + googleChunk(`{"finishReason":"${reason}"}`)),
    "refused"
  ])
]

const failsAs = (wire: ModelWire, cases: ReadonlyArray<Case>) =>
  describe(`the wire to ${wire.name}`, () => {
    it.scopedLive.each([...cases])("understands %s", ([, behavior, kind]) =>
      Effect.gen(function* () {
        const fake = yield* wire.makeFake
        fake.respondWith(behavior)
        const failure = yield* Effect.flip(runChat(yield* connectProvider(wire.name, fake), wire.model))
        assertMatches(failure, { _tag: "ProviderFailed", provider: wire.name, kind })
        assert.notInclude(failure.reason, "<")
        assert.lengthOf(fake.received, 1)
      })
    )
  })

failsAs(openAiWire, [...failuresOfAll(openAiBegun), ...openAiFailures])
failsAs(anthropicWire, [...failuresOfAll(anthropicBegun), ...anthropicFailures])
failsAs(googleWire, [...failuresOfAll(googleBegun), ...googleFailures])

describe("Retry-After", () => {
  it.scopedLive.each([openAiWire, anthropicWire, googleWire])("is read from $name's header", (wire) =>
    Effect.gen(function* () {
      const fake = yield* wire.makeFake
      fake.respondWith({ type: "refuse", status: 429, error: {}, headers: { "retry-after": "7" } })
      const failure = yield* Effect.flip(runChat(yield* connectProvider(wire.name, fake), wire.model))
      assertMatches(failure, { kind: "rate-limited", retryAfter: Duration.seconds(7) })
    })
  )

  it.scopedLive("is read from the details of Google's error", () =>
    Effect.gen(function* () {
      const fake = yield* googleWire.makeFake
      const details = [
        { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId: "PerMinute" }] },
        { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34.5s" }
      ]
      fake.respondWith(refused(429, { code: 429, status: "RESOURCE_EXHAUSTED", message: "Slow down", details }))
      const failure = yield* Effect.flip(runChat(yield* connectProvider("google", fake), googleWire.model))
      assertMatches(failure, { kind: "rate-limited", retryAfter: Duration.millis(34_500) })
    })
  )
})
