import { AiSettings, defaultAiSettings } from "@berth/domain/ai/calls/AiSettings"
import { type ModelCallRecord, ModelUsage } from "@berth/domain/ai/calls/ModelUsage"
import { type ModelKeys, OwnerKeys } from "@berth/domain/ai/keys/OwnerKeys"
import { UserId } from "@berth/domain/shared/UserId"
import type { Recording, SpeechInput } from "@berth/domain/gateway/speech/Speech"
import * as LocalSpeech from "@berth/domain/gateway/speech/LocalSpeech"
import * as ConfiguredSpeechProviders from "@berth/infra/ai/ConfiguredSpeechProviders"
import { Duration, Effect, Layer, Redacted } from "effect"
import { GatewaySettings, type SpeechSettings } from "@berth/domain/gateway/GatewaySettings"
import type { FakeOpenAiAudio } from "../fakes/models/FakeOpenAiAudio.ts"
import { makeGatewaySettings } from "./payments/PaymentFixtures.ts"

const network = { chainId: 1337, token: `0x20c0${"00".repeat(18)}` }
const settings = makeGatewaySettings({ network, realm: "berth.example" })

export interface LocalSpeechOptions {
  /** The platform's OpenAI; not configured by default. */
  readonly platformVendor?: FakeOpenAiAudio | undefined
  readonly sandbox?: boolean
  /** The vendor called with users' own keys. */
  readonly ownKeyVendor?: FakeOpenAiAudio | undefined
  readonly keys?: ModelKeys
  readonly usage?: Array<ModelCallRecord>
  readonly times?: Partial<Pick<SpeechSettings, "attemptTimeout" | "retryTimeout">>
  readonly retries?: number
}

/** Speech in this process, without delays between retries. */
export const localSpeechLayer = ({
  keys = {},
  ownKeyVendor,
  retries = 0,
  sandbox = false,
  platformVendor,
  times,
  usage = []
}: LocalSpeechOptions) =>
  LocalSpeech.layer.pipe(
    Layer.provide(
      ConfiguredSpeechProviders.layer({
        sandbox,
        ...(platformVendor === undefined
          ? {}
          : { openai: { apiKey: Redacted.make(platformVendor.apiKey), baseUrl: platformVendor.baseUrl } }),
        ...(ownKeyVendor === undefined ? {} : { baseUrls: { openai: ownKeyVendor.baseUrl } })
      })
    ),
    Layer.provide(
      Layer.succeed(OwnerKeys, { find: (userId) => Effect.succeed(userId === userWithOwnKey ? keys : {}) })
    ),
    Layer.provide(
      Layer.mock(ModelUsage, {
        record: (call) =>
          Effect.sync(() => {
            usage.push(call)
          })
      })
    ),
    Layer.provide(
      Layer.succeed(AiSettings, {
        ...defaultAiSettings,
        retry: { ...defaultAiSettings.retry, retries, base: Duration.millis(1) }
      })
    ),
    Layer.provide(Layer.succeed(GatewaySettings, { ...settings, speech: { ...settings.speech, ...times } }))
  )

export const userWithOwnKey = UserId.make("usr_keyed")

export const makeSpokenText = (text: string, more: Partial<SpeechInput> = {}): SpeechInput => ({
  text,
  userId: null,
  ...more
})

export const makeRecording = (audio: Uint8Array, more: Partial<Recording> = {}): Recording => ({
  audio,
  contentType: "application/octet-stream",
  filename: "speech",
  userId: null,
  ...more
})
