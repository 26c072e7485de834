import { Predicate, Schema } from "effect"
import { optionalNullable } from "../vendor/VendorBodies.ts"

export type GooglePart =
  | { readonly text: string }
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | { readonly fileData: { readonly fileUri: string; readonly mimeType?: string } }
  | {
      readonly functionCall: { readonly id: string; readonly name: string; readonly args: object }
      readonly thoughtSignature?: string
    }
  | {
      readonly functionResponse: {
        readonly id: string
        readonly name: string
        readonly response: { readonly result: string }
      }
    }

interface GoogleContent {
  readonly parts: ReadonlyArray<GooglePart>
}

/** Body of POST /models/<name>:streamGenerateContent. */
export interface GoogleBody {
  readonly contents: ReadonlyArray<GoogleContent & { readonly role: "user" | "model" }>
  readonly systemInstruction?: GoogleContent
  readonly tools?: readonly [
    {
      readonly functionDeclarations: ReadonlyArray<{
        readonly name: string
        readonly description: string
        readonly parametersJsonSchema: object
      }>
    }
  ]
  readonly toolConfig?: {
    readonly functionCallingConfig: {
      readonly mode: "AUTO" | "ANY" | "NONE"
      readonly allowedFunctionNames?: ReadonlyArray<string>
    }
  }
  readonly generationConfig: {
    readonly temperature?: number
    readonly topP?: number
    readonly maxOutputTokens?: number
    readonly stopSequences?: ReadonlyArray<string>
    readonly seed?: number
    readonly frequencyPenalty?: number
    readonly presencePenalty?: number
    readonly responseMimeType?: "application/json"
    readonly responseJsonSchema?: object
  }
}

/** Zero counts are omitted. */
export const GoogleUsage = Schema.Struct({
  promptTokenCount: optionalNullable(Schema.NonNegativeInt),
  cachedContentTokenCount: optionalNullable(Schema.NonNegativeInt),
  toolUsePromptTokenCount: optionalNullable(Schema.NonNegativeInt),
  candidatesTokenCount: optionalNullable(Schema.NonNegativeInt),
  thoughtsTokenCount: optionalNullable(Schema.NonNegativeInt),
  totalTokenCount: optionalNullable(Schema.NonNegativeInt)
})
export type GoogleUsage = typeof GoogleUsage.Type

export const GoogleError = Schema.Struct({
  /** An HTTP status. */
  code: optionalNullable(Schema.Number),
  /** For example RESOURCE_EXHAUSTED. */
  status: optionalNullable(Schema.String),
  message: optionalNullable(Schema.String),
  details: optionalNullable(Schema.Array(Schema.Unknown))
})
export type GoogleError = typeof GoogleError.Type

export const GoogleErrorDetail = Schema.Struct({
  reason: optionalNullable(Schema.String),
  /** For example 1.5s. */
  retryDelay: optionalNullable(Schema.String)
})

const OneError = Schema.Struct({ error: GoogleError })

/** An error, bare or in an array. */
export const GoogleErrorBody = Schema.parseJson(
  Schema.Union(
    OneError,
    Schema.transform(Schema.Tuple(OneError), Schema.typeSchema(OneError), {
      strict: true,
      decode: ([error]) => error,
      encode: (error) => [error] as const
    })
  )
)

/** An event of a streamed answer. */
export const GoogleAnswerChunk = Schema.Struct({
  candidates: optionalNullable(
    Schema.Array(
      Schema.Struct({
        content: optionalNullable(
          Schema.Struct({
            parts: optionalNullable(
              Schema.Array(
                Schema.Struct({
                  text: optionalNullable(Schema.String),
                  thought: optionalNullable(Schema.Boolean),
                  functionCall: optionalNullable(
                    Schema.Struct({
                      id: optionalNullable(Schema.String),
                      name: Schema.String,
                      args: optionalNullable(Schema.Unknown)
                    })
                  ),
                  thoughtSignature: optionalNullable(Schema.String)
                })
              )
            )
          })
        ),
        finishReason: optionalNullable(Schema.String)
      })
    )
  ),
  promptFeedback: optionalNullable(Schema.Struct({ blockReason: optionalNullable(Schema.String) })),
  usageMetadata: optionalNullable(GoogleUsage)
})
export type GoogleAnswerChunk = typeof GoogleAnswerChunk.Type

export const GoogleStreamEvent = Schema.Union(OneError, GoogleAnswerChunk)

const usageFields = [
  "promptTokenCount",
  "cachedContentTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
  "totalTokenCount"
] as const

const readUsage = (usage: unknown): GoogleUsage | null => {
  if (!Predicate.isRecord(usage) || "toolUsePromptTokenCount" in usage) return null
  const counts: { [field in (typeof usageFields)[number]]?: number } = {}
  for (const field of usageFields) {
    const count = usage[field]
    if (count === undefined) continue
    if (!Predicate.isNumber(count) || !Number.isSafeInteger(count) || count < 0) return null
    counts[field] = count
  }
  return counts
}

/** Hot path: reads a text delta without a schema; null for any other event. */
export const readGoogleDelta = (json: unknown): GoogleAnswerChunk | null => {
  if (!Predicate.isRecord(json) || "error" in json || "promptFeedback" in json) return null
  const candidate: unknown =
    Array.isArray(json["candidates"]) && json["candidates"].length === 1 ? json["candidates"][0] : null
  if (!Predicate.isRecord(candidate) || "finishReason" in candidate || !Predicate.isRecord(candidate["content"]))
    return null
  const parts: unknown = candidate["content"]["parts"]
  const part: unknown = Array.isArray(parts) && parts.length === 1 ? parts[0] : null
  if (
    !Predicate.isRecord(part) ||
    !Predicate.isString(part["text"]) ||
    "thought" in part ||
    "functionCall" in part ||
    "thoughtSignature" in part
  )
    return null
  const candidates = [{ content: { parts: [{ text: part["text"] }] } }]
  if (json["usageMetadata"] === undefined) return { candidates }
  const usageMetadata = readUsage(json["usageMetadata"])
  return usageMetadata === null ? null : { candidates, usageMetadata }
}
