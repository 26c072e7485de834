import { Schema } from "effect"
import { maybe } from "../wire/Maybe.ts"

export type WirePart =
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

interface WireContent {
  readonly parts: ReadonlyArray<WirePart>
}

/** The body of POST /models/<name>:streamGenerateContent. */
export interface GenerateBody {
  readonly contents: ReadonlyArray<WireContent & { readonly role: "user" | "model" }>
  readonly systemInstruction?: WireContent
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

/** A count of nothing is left out. */
export const WireUsage = Schema.Struct({
  promptTokenCount: maybe(Schema.NonNegativeInt),
  toolUsePromptTokenCount: maybe(Schema.NonNegativeInt),
  candidatesTokenCount: maybe(Schema.NonNegativeInt),
  thoughtsTokenCount: maybe(Schema.NonNegativeInt),
  totalTokenCount: maybe(Schema.NonNegativeInt)
})
export type WireUsage = typeof WireUsage.Type

export const WireError = Schema.Struct({
  /** A status of HTTP. */
  code: maybe(Schema.Number),
  /** A word for it: RESOURCE_EXHAUSTED. */
  status: maybe(Schema.String),
  message: maybe(Schema.String),
  details: maybe(Schema.Array(Schema.Unknown))
})
export type WireError = typeof WireError.Type

/** What details of an error say the most: a word for its cause, and when to come back, in seconds with an s. */
export const ErrorDetail = Schema.Struct({ reason: maybe(Schema.String), retryDelay: maybe(Schema.String) })

const OneError = Schema.Struct({ error: WireError })

/** An error alone, or in the array that answers come in elsewhere. */
export const ErrorBody = Schema.parseJson(
  Schema.Union(
    OneError,
    Schema.transform(Schema.Tuple(OneError), Schema.typeSchema(OneError), {
      strict: true,
      decode: ([one]) => one,
      encode: (one) => [one] as const
    })
  )
)

/** One event of a streamed answer. */
export const AnswerChunk = Schema.Struct({
  candidates: maybe(
    Schema.Array(
      Schema.Struct({
        content: maybe(
          Schema.Struct({
            parts: maybe(
              Schema.Array(
                Schema.Struct({
                  text: maybe(Schema.String),
                  thought: maybe(Schema.Boolean),
                  functionCall: maybe(
                    Schema.Struct({ id: maybe(Schema.String), name: Schema.String, args: maybe(Schema.Unknown) })
                  ),
                  thoughtSignature: maybe(Schema.String)
                })
              )
            )
          })
        ),
        finishReason: maybe(Schema.String)
      })
    )
  ),
  promptFeedback: maybe(Schema.Struct({ blockReason: maybe(Schema.String) })),
  usageMetadata: maybe(WireUsage)
})
export type AnswerChunk = typeof AnswerChunk.Type

export const StreamEvent = Schema.parseJson(Schema.Union(OneError, AnswerChunk))
