import { BackendApi } from "@berth/api/BackendApi"
import { ownKeyHeader, type SpeechFailed, type SpeechInputInvalid } from "@berth/api/gateway/speech/SpeechApi"
import { PluginFailed, PluginInputInvalid } from "@berth/domain/gateway/plugins/PluginRun"
import { type Recording, Speech, type SpeechInput } from "@berth/domain/gateway/speech/Speech"
import { validateRecording, validateSpeechInput, makeAudioFilename } from "@berth/domain/gateway/speech/SpeechLimits"
import { type HttpClient as Client, HttpApiClient, HttpClient, HttpClientRequest } from "@effect/platform"
import { Duration, Effect, Layer } from "effect"
import {
  type BackendClientOptions,
  isInternalFailure,
  isTransportFailure,
  type TransportFailure
} from "./BackendAgentManager.ts"
import { addCallerHeaders } from "./CallerHeaders.ts"

/** Longer than the backend tries, so that it is the backend who says what took so long. */
const timeout = Duration.minutes(6)

const unreachable = (reason: string) => new PluginFailed({ reason: `speech is unavailable: the backend ${reason}` })

/** What went wrong on the way is for the log; the caller hears no address of ours. */
const asFailure = (
  error: TransportFailure | SpeechFailed | SpeechInputInvalid
): Effect.Effect<never, PluginFailed | PluginInputInvalid> => {
  if (isTransportFailure<SpeechFailed | SpeechInputInvalid>(error)) {
    return isInternalFailure(error)
      ? Effect.die(error)
      : Effect.zipRight(
          Effect.logWarning("The backend cannot be reached").pipe(Effect.annotateLogs("reason", error.message)),
          unreachable("cannot be reached")
        )
  }
  return error._tag === "SpeechFailed"
    ? new PluginFailed({ reason: error.reason, retryAfter: error.retryAfter })
    : new PluginInputInvalid({ field: error.field, reason: error.reason })
}

const callBackend = <A>(call: Effect.Effect<A, TransportFailure | SpeechFailed | SpeechInputInvalid>) =>
  // Interruptible wherever this runs: what cannot be ended cannot be given up.
  Effect.interruptible(Effect.catchAll(call, asFailure)).pipe(
    Effect.timeoutFail({ duration: timeout, onTimeout: () => unreachable("did not answer in time") })
  )

const formOf = ({ audio, filename, language, model, prompt, userId }: Recording, contentType: string) => {
  const form = new FormData()
  const fields = { language, model, prompt, userId: userId ?? undefined }
  for (const [name, value] of Object.entries(fields)) {
    if (value !== undefined) form.append(name, value)
  }
  form.append("file", new Blob([new Uint8Array(audio)], { type: contentType }), filename)
  return form
}

/** Speech by another process, over the backend API. */
export const layer = (options: BackendClientOptions): Layer.Layer<Speech, never, Client.HttpClient> =>
  Layer.effect(
    Speech,
    Effect.gen(function* () {
      const httpClient = HttpClient.mapRequest(yield* HttpClient.HttpClient, (request) =>
        request.pipe(
          HttpClientRequest.prependUrl(options.backendUrl.replace(/\/$/, "")),
          HttpClientRequest.bearerToken(options.internalApiKey)
        )
      ).pipe(HttpClient.mapRequestEffect(addCallerHeaders))
      const { speech } = yield* HttpApiClient.makeWith(BackendApi, { httpClient })
      return Speech.of({
        synthesize: Effect.fn("Speech.synthesize")(function* (spoken: SpeechInput) {
          yield* validateSpeechInput(spoken)
          const [audio, { headers }] = yield* callBackend(speech.speak({ payload: spoken, withResponse: true }))
          return {
            audio,
            contentType: headers["content-type"] ?? "application/octet-stream",
            ownKey: headers[ownKeyHeader] === "true"
          }
        }),
        transcribe: Effect.fn("Speech.transcribe")(function* (recording: Recording) {
          // What the backend would refuse is not sent to it.
          const kind = yield* validateRecording(recording)
          const named = { ...recording, filename: makeAudioFilename(recording.filename, kind) }
          return yield* callBackend(speech.transcribe({ payload: formOf(named, kind.contentType) }))
        })
      })
    })
  )
