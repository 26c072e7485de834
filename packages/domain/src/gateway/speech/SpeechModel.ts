import { Either, Option } from "effect"
import type { ProviderName } from "../../ai/models/Model.ts"
import { PluginFailed, PluginInputInvalid } from "../plugins/PluginRun.ts"

/** Providers with OpenAI's audio API. */
export const speechVendors = ["openai", "groq", "openrouter"] as const satisfies ReadonlyArray<ProviderName>
export type SpeechVendor = (typeof speechVendors)[number]

export type SpeechProviderName = SpeechVendor | "sandbox"

/** A model, named as by its provider. */
export interface SpeechModel {
  readonly provider: SpeechProviderName
  readonly name: string
}

const sandboxSpeechModel: SpeechModel = { provider: "sandbox", name: "speech" }

export const formatSpeechModelId = ({ name, provider }: SpeechModel): string => `${provider}/${name}`

const isSpeechProvider = (name: string): name is SpeechProviderName =>
  name === "sandbox" || speechVendors.some((vendor) => vendor === name)

const namePattern = /^[\w.:/@-]{1,200}$/

/** Parses `provider/model`; none for an unknown provider. */
export const parseSpeechModel = (id: string): Option.Option<SpeechModel> => {
  const slash = id.indexOf("/")
  const [provider, name] = [id.slice(0, Math.max(slash, 0)), id.slice(slash + 1)]
  return isSpeechProvider(provider) && namePattern.test(name) ? Option.some({ provider, name }) : Option.none()
}

/** Returns the requested model; a name without provider uses the default model's provider. */
export const resolveSpeechModel = (
  requested: string | undefined,
  usual: SpeechModel
): Either.Either<SpeechModel, PluginInputInvalid> => {
  if (requested === undefined) return Either.right(usual)
  const id = requested.includes("/") ? requested : `${usual.provider}/${requested}`
  return Either.fromOption(
    parseSpeechModel(id),
    () =>
      new PluginInputInvalid({
        field: "model",
        reason: `must be provider/model, where the provider is ${speechVendors.join(", ")}`
      })
  )
}

interface SpeechRoute {
  readonly model: SpeechModel
  /** Whether the caller's own key is used. */
  readonly own: boolean
}

interface SpeechAvailability {
  /** Providers with own keys of the caller, and providers configured by the platform. */
  readonly own: ReadonlySet<ProviderName>
  readonly configured: ReadonlySet<SpeechProviderName>
  /** Whether the caller named the model. */
  readonly isNamed: boolean
  /** Whether platform keys are excluded. */
  readonly ownKeysOnly: boolean
}

/** Selects the caller's own key, else the platform's, else the sandbox if enabled. */
export const selectSpeechRoute = (
  model: SpeechModel,
  { configured, isNamed, own, ownKeysOnly }: SpeechAvailability
): Either.Either<SpeechRoute, PluginFailed | PluginInputInvalid> => {
  if (own.has(model.provider)) return Either.right({ model, own: true })
  if (ownKeysOnly)
    return Either.left(
      new PluginFailed({ reason: `there is no own key for ${model.provider} any more`, isUnavailable: true })
    )
  if (configured.has(model.provider)) return Either.right({ model, own: false })
  if (configured.has("sandbox")) return Either.right({ model: sandboxSpeechModel, own: false })
  const missing =
    model.provider === "sandbox"
      ? `${formatSpeechModelId(model)} cannot be used: the sandbox is off`
      : `${formatSpeechModelId(model)} cannot be used: there is no key for ${model.provider}`
  return Either.left(
    isNamed
      ? new PluginInputInvalid({ field: "model", reason: missing })
      : new PluginFailed({ reason: missing, isUnavailable: true })
  )
}
