import { Schema } from "effect"
import { optionalNullable } from "../vendor/OptionalField.ts"

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

/** The body of POST /models/<name>:streamGenerateContent. */
export interface GenerateBody {
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

/** A count of nothing is left out. */
export const GoogleUsage = Schema.Struct({
  promptTokenCount: optionalNullable(Schema.NonNegativeInt),
  toolUsePromptTokenCount: optionalNullable(Schema.NonNegativeInt),
  candidatesTokenCount: optionalNullable(Schema.NonNegativeInt),
  thoughtsTokenCount: optionalNullable(Schema.NonNegativeInt),
  totalTokenCount: optionalNullable(Schema.NonNegativeInt)
})
export type GoogleUsage = typeof GoogleUsage.Type

export const GoogleError = Schema.Struct({
  /** A status of HTTP. */
  code: optionalNullable(Schema.Number),
  /** A word for it: RESOURCE_EXHAUSTED. */
  status: optionalNullable(Schema.String),
  message: optionalNullable(Schema.String),
  details: optionalNullable(Schema.Array(Schema.Unknown))
})
export type GoogleError = typeof GoogleError.Type

/** What details of an error say the most: a word for its cause, and when to come back, in seconds with an s. */
export const GoogleErrorDetail = Schema.Struct({
  reason: optionalNullable(Schema.String),
  retryDelay: optionalNullable(Schema.String)
})

const OneError = Schema.Struct({ error: GoogleError })

/** An error alone, or in the array that answers come in elsewhere. */
export const GoogleErrorBody = Schema.parseJson(
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

export const GoogleStreamEvent = Schema.parseJson(Schema.Union(OneError, GoogleAnswerChunk))
