import { Data, Either, Redacted, Schema } from "effect"

/** The model providers and messaging platforms of the credential map. */
export const CredentialKey = Schema.Literal(
  "anthropic",
  "openai",
  "openrouter",
  "google",
  "telegram",
  "discord",
  "whatsapp"
).annotations({ identifier: "CredentialKey" })
export type CredentialKey = typeof CredentialKey.Type

/** Keys of the credential map, and of providers outside of it. */
export const StoredCredentialKey = Schema.Literal(...CredentialKey.literals, "groq")
export type StoredCredentialKey = typeof StoredCredentialKey.Type

/** Used by the AI layer for their owner's calls. */
export const modelCredentialKeys = [
  "anthropic",
  "openai",
  "openrouter",
  "google",
  "groq"
] as const satisfies ReadonlyArray<StoredCredentialKey>
export type ModelCredentialKey = (typeof modelCredentialKeys)[number]
/** Used by the owner's messaging channels only. */
export const channelCredentialKeys = ["telegram", "discord", "whatsapp"] as const satisfies ReadonlyArray<CredentialKey>

export type CredentialValues = { readonly [Key in StoredCredentialKey]?: Redacted.Redacted }

/** Whether each credential is configured, without values. */
export const CredentialMap = Schema.Struct({
  anthropic: Schema.Boolean,
  openai: Schema.Boolean,
  openrouter: Schema.Boolean,
  google: Schema.Boolean,
  telegram: Schema.Boolean,
  discord: Schema.Boolean,
  whatsapp: Schema.Boolean
}).annotations({ identifier: "CredentialMap" })
export type CredentialMap = typeof CredentialMap.Type

export class CredentialKeyUnknown extends Data.TaggedError("CredentialKeyUnknown")<object> {}
/** The value is not a valid key or token. `reason` never quotes it. */
export class CredentialInvalid extends Data.TaggedError("CredentialInvalid")<{ readonly reason: string }> {}

export const makeCredentialMap = (configured: ReadonlyArray<StoredCredentialKey>): CredentialMap => ({
  anthropic: configured.includes("anthropic"),
  openai: configured.includes("openai"),
  openrouter: configured.includes("openrouter"),
  google: configured.includes("google"),
  telegram: configured.includes("telegram"),
  discord: configured.includes("discord"),
  whatsapp: configured.includes("whatsapp")
})

const isCredentialKey = Schema.is(CredentialKey)

export const parseCredentialKey = (text: string): Either.Either<CredentialKey, CredentialKeyUnknown> =>
  isCredentialKey(text) ? Either.right(text) : Either.left(new CredentialKeyUnknown())

export const maximumCredentialLength = 8192

/** Parses a value into its stored form: trimmed, and valid in an HTTP header. */
export const parseCredentialValue = (text: Redacted.Redacted): Either.Either<Redacted.Redacted, CredentialInvalid> => {
  const value = Redacted.value(text).trim()
  if (value.length === 0 || value.length > maximumCredentialLength)
    return Either.left(new CredentialInvalid({ reason: `must have 1 to ${maximumCredentialLength} characters` }))
  return /^[\x20-\x7e]+$/.test(value)
    ? Either.right(Redacted.make(value))
    : Either.left(new CredentialInvalid({ reason: "must be one line of printable ASCII characters" }))
}
