import { ProviderFailureKind } from "@berth/domain/ai/models/ModelErrors"
import { AnsweringModel } from "@berth/domain/ai/models/AnsweringModel"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, Multipart, OpenApi } from "@effect/platform"
import { Data, Duration, Schema } from "effect"
import { extendedErrorBody } from "../../http/ErrorBody.ts"
import { InternalAuth } from "../../http/InternalAuth.ts"
import { UserId } from "@berth/domain/shared/UserId"

/* Speech on the private listener, for the web API. Audio is binary: a form part in requests, the body in responses. */

/** Errors of a plugin on the private listener. */
export class SpeechFailed extends Data.TaggedError("SpeechFailed")<{
  readonly reason: string
  readonly kind?: ProviderFailureKind | undefined
  readonly retryAfter: Duration.Duration | undefined
}> {}
export class SpeechInputInvalid extends Data.TaggedError("SpeechInputInvalid")<{
  readonly field: string
  readonly reason: string
}> {}

const SpeechFailedBody = extendedErrorBody(
  SpeechFailed,
  Schema.Struct({ retryAfterMs: Schema.optional(Schema.Number), kind: Schema.optional(ProviderFailureKind) }),
  {
    status: 502,
    error: "Speech failed",
    message: ({ reason }) => reason,
    members: ({ kind, retryAfter }) => ({
      ...(kind !== undefined && { kind }),
      ...(retryAfter !== undefined && { retryAfterMs: Duration.toMillis(retryAfter) })
    }),
    example: new SpeechFailed({ reason: "The speech provider does not answer.", retryAfter: undefined }),
    read: (reason, { kind, retryAfterMs }) =>
      new SpeechFailed({
        reason,
        kind,
        retryAfter: retryAfterMs === undefined ? undefined : Duration.millis(retryAfterMs)
      })
  }
)

const SpeechInputInvalidBody = extendedErrorBody(SpeechInputInvalid, Schema.Struct({ field: Schema.String }), {
  status: 400,
  error: "Invalid input",
  message: ({ reason }) => reason,
  members: ({ field }) => ({ field }),
  example: new SpeechInputInvalid({ field: "voice", reason: "voice: there is no such voice." }),
  read: (reason, { field }) => new SpeechInputInvalid({ field, reason })
})

/** Response header of audio: whether the caller's own key was used. */
export const ownKeyHeader = "x-berth-own-key"

/** Returns audio. Headers contain its type, its model, and whether the caller's own key was used. */
const speak = HttpApiEndpoint.post("speak", "/internal/gateway/speech")
  .setPayload(
    Schema.Struct({
      text: Schema.String,
      voice: Schema.optional(Schema.String),
      format: Schema.optional(Schema.String),
      speed: Schema.optional(Schema.Number),
      model: Schema.optional(Schema.String),
      userId: Schema.NullOr(UserId),
      ownKeysOnly: Schema.optional(Schema.Boolean)
    })
  )
  .addSuccess(
    HttpApiSchema.withEncoding(Schema.Uint8ArrayFromSelf, {
      kind: "Uint8Array",
      contentType: "application/octet-stream"
    })
  )
  .addError(SpeechInputInvalidBody)
  .addError(SpeechFailedBody)
  .annotate(OpenApi.Summary, "Create speech from text")

export const transcriptionsPath = "/internal/gateway/transcriptions"

/** The payload is a form: the recording, and its properties as fields. */
const transcribe = HttpApiEndpoint.post("transcribe", transcriptionsPath)
  .setPayload(
    HttpApiSchema.Multipart(
      Schema.Struct({
        file: Multipart.SingleFileSchema,
        language: Schema.optional(Schema.String),
        prompt: Schema.optional(Schema.String),
        model: Schema.optional(Schema.String),
        userId: Schema.optional(Schema.String),
        ownKeysOnly: Schema.optional(Schema.String)
      })
    )
  )
  .addSuccess(Schema.Struct({ text: Schema.String, ownKey: Schema.Boolean, answeredBy: AnsweringModel }))
  .addError(SpeechInputInvalidBody)
  .addError(SpeechFailedBody)
  .annotate(OpenApi.Summary, "Create a transcription of speech")

export class SpeechApi extends HttpApiGroup.make("speech")
  .add(speak)
  .add(transcribe)
  .middlewareEndpoints(InternalAuth) {}
