import { readAnsweringModelHeaders } from "@berth/api/ai/AnsweringModelHeaders"
import { ownKeyHeader, type SpeechFailed, type SpeechInputInvalid } from "@berth/api/gateway/speech/SpeechApi"
import { PluginFailed, PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import { type Recording, Speech, type SpeechInput } from "@berth/domain/gateway/speech/Speech"
import { validateRecording, validateSpeechInput, makeAudioFilename } from "@berth/domain/gateway/speech/SpeechLimits"
import { Duration, Effect, Layer } from "effect"
import {
  type BackendClientOptions,
  failTransportWith,
  makeBackendClient,
  type TransportFailure
} from "./BackendClient.ts"

/** Longer than the backend's timeouts, so that its failure states the cause. */
const timeout = Duration.minutes(6)

const unavailable = (reason: string, kind?: "unreachable" | "timeout") =>
  new PluginFailed({ reason: `speech is unavailable: the backend ${reason}`, kind })

const callBackend = <A>(call: Effect.Effect<A, TransportFailure | SpeechFailed | SpeechInputInvalid>) =>
  call.pipe(
    failTransportWith(unavailable("cannot be reached", "unreachable")),
    Effect.catchTags({
      SpeechFailed: ({ kind, reason, retryAfter }) => new PluginFailed({ reason, kind, retryAfter }),
      SpeechInputInvalid: ({ field, reason }) => new PluginInputInvalid({ field, reason })
    }),
    // Interruptible in any region, so that the timeout can end it.
    Effect.interruptible,
    Effect.timeoutFail({ duration: timeout, onTimeout: () => unavailable("did not answer in time", "timeout") })
  )

const formOf = ({ audio, filename, language, model, ownKeysOnly, prompt, userId }: Recording, contentType: string) => {
  const form = new FormData()
  const fields = {
    language,
    model,
    prompt,
    userId: userId ?? undefined,
    ownKeysOnly: ownKeysOnly === true ? "true" : undefined
  }
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) form.append(name, value)
  }
  form.append("file", new Blob([new Uint8Array(audio)], { type: contentType }), filename)
  return form
}

export const layer = (options: BackendClientOptions): Layer.Layer<Speech> =>
  Layer.effect(
    Speech,
    Effect.gen(function* () {
      const { speech } = (yield* makeBackendClient(options)).api
      return Speech.of({
        synthesize: Effect.fn("Speech.synthesize")(function* (spoken: SpeechInput) {
          yield* validateSpeechInput(spoken)
          const [audio, { headers }] = yield* callBackend(speech.speak({ payload: spoken, withResponse: true }))
          const answeredBy = readAnsweringModelHeaders(headers)
          if (answeredBy === undefined) return yield* unavailable("named no model")
          return {
            audio,
            answeredBy,
            contentType: headers["content-type"] ?? "application/octet-stream",
            ownKey: headers[ownKeyHeader] === "true"
          }
        }),
        transcribe: Effect.fn("Speech.transcribe")(function* (recording: Recording) {
          const kind = yield* validateRecording(recording)
          const named = { ...recording, filename: makeAudioFilename(recording.filename, kind) }
          return yield* callBackend(speech.transcribe({ payload: formOf(named, kind.contentType) }))
        })
      })
    })
  )
