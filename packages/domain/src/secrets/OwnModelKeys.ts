import { Data, Effect, Either, type Redacted } from "effect"
import { CredentialKeyUnknown, modelCredentialKeys, parseCredentialValue } from "./Credential.ts"
import { CredentialVault } from "./CredentialVault.ts"
import { ModelKeyVerifier, type ModelCredentialKey } from "./ModelKeyVerifier.ts"
import type { UserId } from "../shared/UserId.ts"

/** No provider of this name takes an owner's own key. */
export class OwnKeyProviderUnknown extends Data.TaggedError("OwnKeyProviderUnknown")<object> {}

/** Other names that providers go by. */
const aliases: Readonly<Record<string, ModelCredentialKey>> = { gemini: "google" }

/** The provider that is meant, in any case. */
export const parseOwnKeyProvider = (name: string): Either.Either<ModelCredentialKey, OwnKeyProviderUnknown> => {
  const lower = name.trim().toLowerCase()
  const found =
    modelCredentialKeys.find((key) => key === lower) ?? (Object.hasOwn(aliases, lower) ? aliases[lower] : undefined)
  return Either.fromNullable(found, () => new OwnKeyProviderUnknown())
}

/** Model calls on owners' own keys: a key is asked for once, when it is brought, and used for all that its owner's agents say. */
export class OwnModelKeys extends Effect.Service<OwnModelKeys>()("@berth/OwnModelKeys", {
  effect: Effect.gen(function* () {
    const vault = yield* CredentialVault
    const check = yield* ModelKeyVerifier

    const isEnabled = Effect.fn("OwnModelKeys.isEnabled")(function* (userId: UserId) {
      const configured = yield* vault.findConfigured(userId)
      return modelCredentialKeys.some((key) => configured[key])
    })

    /** Keeps the key if its provider takes it. */
    const enable = Effect.fn("OwnModelKeys.enable")(function* (
      userId: UserId,
      provider: string,
      apiKey: Redacted.Redacted
    ) {
      const known = yield* parseOwnKeyProvider(provider)
      const key = yield* parseCredentialValue(apiKey)
      yield* check.verify(known, key)
      yield* Effect.catchIf(
        vault.set(userId, known, key),
        (error) => error instanceof CredentialKeyUnknown,
        () => new OwnKeyProviderUnknown()
      )
      return known
    })

    /** Forgets every model key of the owner's; his channels keep theirs. */
    const disable = Effect.fn("OwnModelKeys.disable")(function* (userId: UserId) {
      yield* vault.remove(userId, modelCredentialKeys)
    })

    return { isEnabled, enable, disable }
  })
}) {}
