import { BackendApi } from "@berth/api/BackendApi"
import { ownKeyHeader, SpeechFailed, SpeechInputIsInvalid } from "@berth/api/gateway/SpeechApi"
import { UserId } from "@berth/domain/accounts/User"
import type { PluginFailed, PluginInputIsInvalid } from "@berth/domain/gateway/PluginRun"
import { Speech } from "@berth/domain/gateway/Speech"
import { HttpApiBuilder, HttpServerResponse } from "@effect/platform"
import { Effect } from "effect"
import { bodyRefusal } from "../http/RequestBody.ts"
import { readForm } from "./ReadForm.ts"

const onThisWire = <A>(speech: Effect.Effect<A, PluginFailed | PluginInputIsInvalid>) =>
  Effect.mapError(speech, (failure) =>
    failure._tag === "PluginFailed"
      ? new SpeechFailed({ reason: failure.reason, retryAfter: failure.retryAfter })
      : new SpeechInputIsInvalid({ field: failure.field, reason: failure.reason })
  )

export const layer = HttpApiBuilder.group(BackendApi, "speech", (handlers) =>
  Effect.map(Speech, (speech) =>
    handlers
      .handle("speak", ({ payload }) =>
        Effect.map(onThisWire(speech.speak(payload)), ({ audio, contentType, ownKey }) =>
          HttpServerResponse.uint8Array(audio, { contentType, headers: { [ownKeyHeader]: String(ownKey) } })
        )
      )
      .handleRaw("transcribe", ({ request }) =>
        Effect.gen(function* () {
          const body = new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
          const { fields, files } = yield* readForm(request.headers["content-type"] ?? "", body)
          const file = files.get("file")
          const userId = fields.get("userId")
          return yield* onThisWire(
            speech.transcribe({
              audio: file?.bytes ?? new Uint8Array(),
              // What it is, and with it the true extension, is told from the bytes.
              contentType: "application/octet-stream",
              filename: file?.filename ?? "",
              language: fields.get("language"),
              prompt: fields.get("prompt"),
              model: fields.get("model"),
              userId: userId === undefined ? null : UserId.make(userId)
            })
          )
        }).pipe(
          Effect.catchTags({
            BodyIsMalformed: (refusal) => Effect.succeed(bodyRefusal(refusal)),
            BodyIsTooLarge: (refusal) => Effect.succeed(bodyRefusal(refusal))
          })
        )
      )
  )
)
