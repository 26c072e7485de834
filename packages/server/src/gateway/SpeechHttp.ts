import { BackendApi } from "@berth/api/BackendApi"
import { makeAnsweringModelHeaders } from "@berth/api/ai/AnsweringModelHeaders"
import { ownKeyHeader, SpeechFailed, SpeechInputInvalid } from "@berth/api/gateway/speech/SpeechApi"
import type { PluginFailed, PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import { Speech } from "@berth/domain/gateway/speech/Speech"
import { HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { toBodyErrorResponse } from "../http/RequestBody.ts"
import { readMultipartForm } from "./MultipartForm.ts"
import { UserId } from "@berth/domain/shared/UserId"
import { group } from "../http/ApiGroup.ts"

const toSpeechFailure = <A>(speech: Effect.Effect<A, PluginFailed | PluginInputInvalid>) =>
  Effect.mapError(speech, (failure) =>
    failure._tag === "PluginFailed"
      ? new SpeechFailed({ reason: failure.reason, kind: failure.kind, retryAfter: failure.retryAfter })
      : new SpeechInputInvalid({ field: failure.field, reason: failure.reason })
  )

export const layer = group(BackendApi, "speech", (handlers) =>
  Effect.map(Speech, (speech) =>
    handlers
      .handle("speak", ({ payload }) =>
        Effect.map(toSpeechFailure(speech.synthesize(payload)), ({ answeredBy, audio, contentType, ownKey }) =>
          HttpServerResponse.uint8Array(audio, {
            contentType,
            headers: { [ownKeyHeader]: String(ownKey), ...makeAnsweringModelHeaders(answeredBy) }
          })
        )
      )
      .handleRaw("transcribe", ({ request }) =>
        Effect.gen(function* () {
          const body = new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
          const { fields, files } = yield* readMultipartForm(request.headers["content-type"] ?? "", body)
          const file = files.get("file")
          const userId = fields.get("userId")
          return yield* toSpeechFailure(
            speech.transcribe({
              audio: file?.bytes ?? new Uint8Array(),
              // The container is detected from the bytes.
              contentType: "application/octet-stream",
              filename: file?.filename ?? "",
              language: fields.get("language"),
              prompt: fields.get("prompt"),
              model: fields.get("model"),
              userId: userId === undefined ? null : UserId.make(userId),
              ownKeysOnly: fields.get("ownKeysOnly") === "true"
            })
          )
        }).pipe(
          Effect.catchTags({
            BodyMalformed: (refusal) => Effect.succeed(toBodyErrorResponse(refusal)),
            BodyTooLarge: (refusal) => Effect.succeed(toBodyErrorResponse(refusal))
          })
        )
      )
  )
)
