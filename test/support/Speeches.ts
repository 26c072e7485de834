import { AiLimits, defaultAiSettings } from "@berth/domain/ai/AiSettings"
import { type ModelCall, ModelUsage } from "@berth/domain/ai/ModelUsage"
import { type ModelKeys, OwnerKeys } from "@berth/domain/ai/OwnerKeys"
import { UserId } from "@berth/domain/accounts/User"
import type { Recording, SpokenText } from "@berth/domain/gateway/Speech"
import * as LocalSpeech from "@berth/domain/gateway/speech/LocalSpeech"
import * as SpeechProviders from "@berth/infra/ai/SpeechProvidersLive"
import { Duration, Effect, Layer, Redacted } from "effect"
import type { AudioStandIn } from "./vendors/AudioStandIn.ts"

export const usualModels: LocalSpeech.UsualModels = {
  tts: { provider: "openai", name: "tts-1" },
  stt: { provider: "openai", name: "whisper-1" }
}

export interface SpeechOptions {
  /** OpenAI, with a key of the platform's; not configured when absent. */
  readonly standIn?: AudioStandIn | undefined
  readonly sandbox?: boolean
  /** Where own keys are used. */
  readonly ownAt?: AudioStandIn | undefined
  readonly keys?: ModelKeys
  readonly usage?: Array<ModelCall>
  readonly times?: Partial<LocalSpeech.SpeechTimes>
  readonly retries?: number
}

/** Speech in this process, without waits between tries. */
export const localSpeech = ({
  keys = {},
  ownAt,
  retries = 0,
  sandbox = false,
  standIn,
  times,
  usage = []
}: SpeechOptions) =>
  LocalSpeech.layer(usualModels).pipe(
    Layer.provide(
      SpeechProviders.layer({
        sandbox,
        ...(standIn === undefined
          ? {}
          : { openai: { apiKey: Redacted.make(standIn.apiKey), baseUrl: standIn.baseUrl } }),
        ...(ownAt === undefined ? {} : { baseUrls: { openai: ownAt.baseUrl } })
      })
    ),
    Layer.provide(Layer.succeed(OwnerKeys, { of: (userId) => Effect.succeed(userId === keyed ? keys : {}) })),
    Layer.provide(
      Layer.succeed(ModelUsage, {
        record: (call) =>
          Effect.sync(() => {
            usage.push(call)
          })
      })
    ),
    Layer.provide(
      Layer.succeed(AiLimits, {
        ...defaultAiSettings,
        retry: { ...defaultAiSettings.retry, retries, base: Duration.millis(1) }
      })
    ),
    Layer.provide(
      Layer.succeed(LocalSpeech.SpeechPatience, {
        oneTry: Duration.seconds(30),
        tries: Duration.seconds(30),
        ...times
      })
    )
  )

/** Who has keys of his own, where somebody has. */
export const keyed = UserId.make("usr_keyed")

export const spoken = (text: string, more: Partial<SpokenText> = {}): SpokenText => ({ text, userId: null, ...more })

export const recorded = (audio: Uint8Array, more: Partial<Recording> = {}): Recording => ({
  audio,
  contentType: "application/octet-stream",
  filename: "speech",
  userId: null,
  ...more
})
