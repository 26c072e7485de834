import { Data, Effect, Either, type Redacted } from "effect"
import { type ModelCredentialKey, modelCredentialKeys, parseCredentialValue } from "./Credential.ts"
import { CredentialVault } from "./CredentialVault.ts"
import { ModelKeyVerifier } from "./ModelKeyVerifier.ts"
import type { UserId } from "../shared/UserId.ts"

export class OwnKeyProviderUnknown extends Data.TaggedError("OwnKeyProviderUnknown")<object> {}

const aliases: Readonly<Record<string, ModelCredentialKey>> = { gemini: "google" }

/** Parses a provider name case-insensitively. */
const parseOwnKeyProvider = (name: string): Either.Either<ModelCredentialKey, OwnKeyProviderUnknown> => {
  const lower = name.trim().toLowerCase()
  const match =
    modelCredentialKeys.find((key) => key === lower) ?? (Object.hasOwn(aliases, lower) ? aliases[lower] : undefined)
  return Either.fromNullable(match, () => new OwnKeyProviderUnknown())
}

/** Owners' model keys: verified once, then used for all calls of the owner's agents. */
export class OwnModelKeys extends Effect.Service<OwnModelKeys>()("@berth/OwnModelKeys", {
  effect: Effect.gen(function* () {
    const vault = yield* CredentialVault
    const check = yield* ModelKeyVerifier

    const isEnabled = vault.hasModelKey

    /** Stores the key if its provider accepts it; returns the provider. */
    const enable = Effect.fn("OwnModelKeys.enable")(function* (
      userId: UserId,
      provider: string,
      apiKey: Redacted.Redacted
    ) {
      const known = yield* parseOwnKeyProvider(provider)
      const key = yield* parseCredentialValue(apiKey)
      yield* check.verify(known, key)
      yield* vault.setModelKey(userId, known, key)
      return known
    })

    /** Removes all model keys of the owner, but not the channel tokens. */
    const disable = Effect.fn("OwnModelKeys.disable")(function* (userId: UserId) {
      yield* vault.remove(userId, modelCredentialKeys)
    })

    return { isEnabled, enable, disable }
  })
}) {}
