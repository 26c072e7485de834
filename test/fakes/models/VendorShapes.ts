import type { ProviderFailed } from "@berth/domain/ai/models/ModelErrors"
import { Duration } from "effect"
import type { ModelBehavior } from "./FakeModelVendor.ts"

/** A vendor's behavior and the provider failure that results. */
interface VendorFailureRow {
  readonly fault: string
  readonly behavior: ModelBehavior
  readonly kind: ProviderFailed["kind"]
  readonly retryAfter?: Duration.Duration
}

/** Examples in a vendor's protocol. */
export interface VendorShape {
  readonly keyHeaders: (key: string) => Readonly<Record<string, string>>
  readonly failures: ReadonlyArray<VendorFailureRow>
  /** Members of a request with tools, a round of one call, and a second question. */
  readonly toolRequest: object
}

const json = "application/json"

const row = (fault: string, kind: VendorFailureRow["kind"], behavior: ModelBehavior): VendorFailureRow => ({
  fault,
  behavior,
  kind
})
const refused = (
  fault: string,
  kind: VendorFailureRow["kind"],
  status: number,
  error: unknown = { message: "No" },
  headers: Readonly<Record<string, string>> = {}
) => row(fault, kind, { type: "refuse", status, error, headers })
const raw = (
  fault: string,
  kind: VendorFailureRow["kind"],
  body: string,
  contentType = json,
  more: { readonly status?: number } = {}
) => row(fault, kind, { type: "raw", contentType, body, ...more })
const streamed = (fault: string, kind: VendorFailureRow["kind"], body: string) =>
  raw(fault, kind, body, "text/event-stream")

/** Failures of every protocol; `begun` are the events of a started answer. */
const commonFailures = (begun: string): ReadonlyArray<VendorFailureRow> => [
  raw("a proxy's page", "overloaded", "<h1>Bad gateway</h1>", "text/html", { status: 502 }),
  raw("an error without a message", "rate-limited", "{}", json, { status: 429 }),
  raw("a page in place of an answer", "nonsense", "<h1>Hi</h1>", "text/html"),
  raw("malformed JSON", "nonsense", `{"choices": [`),
  streamed("an empty stream", "nonsense", ""),
  streamed("an event of malformed JSON", "nonsense", `${begun}data: {oops\n\n`),
  streamed("a stream cut within an event", "nonsense", `${begun}data: {"choices"`),
  row("a stream that ends too soon", "nonsense", { type: "break-off", pieces: ["Hi"], by: "ending" }),
  row("a connection that breaks", "unreachable", { type: "break-off", pieces: ["Hi"], by: "cutting" }),
  row("a redirect", "nonsense", { type: "redirect", to: "http://127.0.0.1:9/elsewhere" }),
  {
    ...refused("a rate limit with a Retry-After header", "rate-limited", 429, {}, { "retry-after": "7" }),
    retryAfter: Duration.seconds(7)
  }
]

const parameters = { type: "object", properties: { expression: { type: "string" } }, additionalProperties: false }
const expression = '{"expression":"17*23"}'

const openAiBegun = `data: {"choices":[{"delta":{"content":"Hi"}}]}\n\n`

export const openAiShape: VendorShape = {
  keyHeaders: (key) => ({ authorization: `Bearer ${key}` }),
  failures: [
    ...commonFailures(openAiBegun),
    refused("a rate limit", "rate-limited", 429, { message: "Slow down" }),
    refused("a used up quota", "unauthorized", 429, { code: "insufficient_quota" }),
    refused("an overload", "overloaded", 503, { message: "Busy" }),
    refused("a refused parameter", "refused", 400),
    raw("an answer of another type", "nonsense", `{"choices": "none"}`),
    raw("an answer without choices", "nonsense", `{"choices": []}`),
    raw("an error with status 200", "overloaded", `{"error":{"code":502,"message":"x"}}`),
    streamed("a stream without choices", "nonsense", `data: {"choices":[]}\n\ndata: [DONE]\n\n`),
    streamed(
      "an event with members of wrong types",
      "nonsense",
      `data: {"choices":[{"delta":{"content":7},"finish_reason":"stop"}]}\n\n`
    ),
    streamed("an end without a finish reason", "nonsense", `${openAiBegun}data: [DONE]\n\n`),
    streamed(
      "an error in mid-stream",
      "rate-limited",
      `${openAiBegun}data: {"error":{"code":429,"message":"Slow down"}}\n\n`
    )
  ],
  toolRequest: {
    messages: [
      { role: "system" },
      { role: "user" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_b", type: "function", function: { name: "calculate", arguments: expression } }]
      },
      { role: "tool", tool_call_id: "call_b", content: "result of calculate" },
      { role: "user", content: "Go on" }
    ],
    tools: [
      { type: "function", function: { name: "current_time", parameters: { type: "object", properties: {} } } },
      { type: "function", function: { name: "calculate", description: "Calculates", parameters } }
    ]
  }
}

const anthropicStart = `event: message_start\ndata: {"type":"message_start","message":{"usage":{"input_tokens":7}}}\n\n`
const anthropicText = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi"}}\n\n`
const anthropicStop = `event: message_stop\ndata: {"type":"message_stop"}\n\n`
const anthropicEnd = (reason: string) =>
  `data: {"type":"message_delta","delta":{"stop_reason":"${reason}"},"usage":{"output_tokens":1}}\n\n${anthropicStop}`
const anthropicBegun = anthropicStart + anthropicText
const anthropicError = (type: string) =>
  `event: error\ndata: {"type":"error","error":{"type":"${type}","message":"Oh"}}\n\n`
const invalid = (message: string) => ({ type: "invalid_request_error", message })

export const anthropicShape: VendorShape = {
  keyHeaders: (key) => ({ "x-api-key": key, "anthropic-version": "2023-06-01" }),
  failures: [
    ...commonFailures(anthropicBegun),
    refused("a refused parameter", "refused", 400, invalid("No")),
    refused(
      "an account without credit",
      "unauthorized",
      400,
      invalid("Your credit balance is too low to access the API.")
    ),
    refused("a spent budget", "unauthorized", 400, invalid("You have reached your specified API usage limits.")),
    refused("a used up contract", "unauthorized", 429, {
      type: "rate_limit_error",
      message: "No",
      details: { error_code: "contract_spend_limit_reached" }
    }),
    refused("an unpaid bill", "unauthorized", 402, { type: "billing_error", message: "No" }),
    refused("an invalid key", "unauthorized", 401, { type: "authentication_error", message: "invalid x-api-key" }),
    refused("a key without permission", "unauthorized", 403, { type: "permission_error", message: "No" }),
    refused("an unknown model", "refused", 404, { type: "not_found_error", message: "model: x" }),
    refused("a request that is too large", "refused", 413, { type: "request_too_large", message: "No" }),
    refused("a rate limit", "rate-limited", 429, { type: "rate_limit_error", message: "Slow down" }),
    refused("an internal error", "overloaded", 500, { type: "api_error", message: "Oops" }),
    refused("a timeout", "timeout", 504, { type: "timeout_error", message: "Late" }),
    refused("an overload", "overloaded", 529, { type: "overloaded_error", message: "Overloaded" }),
    raw("a complete answer in place of a stream", "nonsense", "{}"),
    streamed("a stream without a start event", "nonsense", anthropicText + anthropicEnd("end_turn")),
    streamed("an end without a stop reason", "nonsense", `${anthropicBegun}${anthropicStop}`),
    streamed(
      "an event with members of wrong types",
      "nonsense",
      `${anthropicStart}${anthropicText.replace(`"Hi"`, "7")}${anthropicEnd("end_turn")}`
    ),
    streamed("an overload in mid-stream", "overloaded", anthropicBegun + anthropicError("overloaded_error")),
    streamed("a rate limit in mid-stream", "rate-limited", anthropicBegun + anthropicError("rate_limit_error")),
    streamed("a withheld answer", "refused", anthropicBegun + anthropicEnd("refusal"))
  ],
  // In one turn, results precede the text.
  toolRequest: {
    messages: [
      { role: "user" },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "call_b", name: "calculate", input: { expression: "17*23" } }]
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "call_b", content: "result of calculate" },
          { type: "text", text: "Go on" }
        ]
      }
    ],
    tools: [{ name: "current_time" }, { name: "calculate", description: "Calculates", input_schema: parameters }]
  }
}

const googleChunk = (candidate: string) => `data: {"candidates":[${candidate}]}\r\n\r\n`
const googleBegun = googleChunk(`{"content":{"role":"model","parts":[{"text":"Hi"}]}}`)
const googleError = (code: number, status: string, more: object = {}) => ({ code, status, message: "Oh", ...more })
const googleErrorBody = (code: number, status: string) => JSON.stringify({ error: googleError(code, status) }, null, 2)
const googleRefused = (
  fault: string,
  kind: VendorFailureRow["kind"],
  code: number,
  status: string,
  more: object = {}
) => refused(fault, kind, code, googleError(code, status, more))
const rpc = "type.googleapis.com/google.rpc"

export const googleShape: VendorShape = {
  keyHeaders: (key) => ({ "x-goog-api-key": key }),
  failures: [
    ...commonFailures(googleBegun),
    googleRefused("a refused parameter", "refused", 400, "INVALID_ARGUMENT"),
    googleRefused("an invalid key", "unauthorized", 400, "INVALID_ARGUMENT", {
      message: "API key not valid.",
      details: [{ "@type": `${rpc}.ErrorInfo`, reason: "API_KEY_INVALID" }]
    }),
    googleRefused("a region without service", "refused", 400, "FAILED_PRECONDITION"),
    googleRefused("a key without permission", "unauthorized", 403, "PERMISSION_DENIED"),
    googleRefused("an unknown model", "refused", 404, "NOT_FOUND"),
    googleRefused("a rate limit", "rate-limited", 429, "RESOURCE_EXHAUSTED"),
    {
      ...googleRefused("a rate limit with a retry delay in its details", "rate-limited", 429, "RESOURCE_EXHAUSTED", {
        details: [
          { "@type": `${rpc}.QuotaFailure`, violations: [{ quotaId: "PerMinute" }] },
          { "@type": `${rpc}.RetryInfo`, retryDelay: "34.5s" }
        ]
      }),
      retryAfter: Duration.millis(34_500)
    },
    googleRefused("an internal error", "overloaded", 500, "INTERNAL"),
    googleRefused("an overload", "overloaded", 503, "UNAVAILABLE"),
    googleRefused("a timeout", "timeout", 504, "DEADLINE_EXCEEDED"),
    raw("an error in an array", "unauthorized", `[${googleErrorBody(403, "PERMISSION_DENIED")}]`, json, {
      status: 403
    }),
    raw("a complete answer in place of a stream", "nonsense", "[{}]"),
    streamed("a stream without a candidate", "nonsense", `data: {"usageMetadata":{"promptTokenCount":7}}\r\n\r\n`),
    streamed(
      "an event with members of wrong types",
      "nonsense",
      googleChunk(`{"content":{"parts":[{"text":7}]},"finishReason":"STOP"}`)
    ),
    streamed(
      "an error in mid-stream",
      "overloaded",
      `${googleBegun}data: {"error":{"code":503,"status":"UNAVAILABLE"}}\n\n`
    ),
    streamed("a bare error in mid-stream", "rate-limited", googleBegun + googleErrorBody(429, "RESOURCE_EXHAUSTED")),
    streamed("a bare error in place of a stream", "overloaded", `${googleErrorBody(500, "INTERNAL")}\n`),
    streamed("a blocked prompt", "refused", `data: {"promptFeedback":{"blockReason":"SAFETY"}}\r\n\r\n`),
    ...["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "OTHER"].map((reason) =>
      streamed(`an answer withheld for ${reason}`, "refused", googleBegun + googleChunk(`{"finishReason":"${reason}"}`))
    )
  ],
  toolRequest: {
    contents: [
      { role: "user" },
      {
        role: "model",
        parts: [{ functionCall: { id: "call_b", name: "calculate", args: { expression: "17*23" } } }]
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "call_b", name: "calculate", response: { result: "result of calculate" } } },
          { text: "Go on" }
        ]
      }
    ],
    tools: [
      { functionDeclarations: [{ name: "current_time" }, { name: "calculate", parametersJsonSchema: parameters }] }
    ]
  }
}
