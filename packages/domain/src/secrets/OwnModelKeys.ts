import { Data, Effect, Either, type Redacted } from "effect"
import type { UserId } from "../accounts/User.ts"
import { CredentialKeyIsUnknown, modelCredentialKeys, parseCredentialValue } from "./Credential.ts"
import { CredentialVault } from "./CredentialVault.ts"
import { KeyCheck, type ModelCredentialKey } from "./KeyCheck.ts"

/** No provider of this name takes an owner's own key. */
export class OwnKeyProviderIsUnknown extends Data.TaggedError("OwnKeyProviderIsUnknown")<object> {}

/** Other names that providers go by. */
const aliases: Readonly<Record<string, ModelCredentialKey>> = { gemini: "google" }

/** The provider that is meant, in any case. */
export const parseOwnKeyProvider = (name: string): Either.Either<ModelCredentialKey, OwnKeyProviderIsUnknown> => {
  const lower = name.trim().toLowerCase()
  const found =
    modelCredentialKeys.find((key) => key === lower) ?? (Object.hasOwn(aliases, lower) ? aliases[lower] : undefined)
  return Either.fromNullable(found, () => new OwnKeyProviderIsUnknown())
}

/** Model calls on owners' own keys: a key is asked for once, when it is brought, and used for all that its owner's agents say. */
export class OwnModelKeys extends Effect.Service<OwnModelKeys>()("@berth/OwnModelKeys", {
  effect: Effect.gen(function* () {
    const vault = yield* CredentialVault
    const check = yield* KeyCheck

    const isEnabled = Effect.fn("OwnModelKeys.isEnabled")(function* (userId: UserId) {
      const configured = yield* vault.configured(userId)
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
      yield* check.check(known, key)
      yield* Effect.catchIf(
        vault.set(userId, known, key),
        (error) => error instanceof CredentialKeyIsUnknown,
        () => new OwnKeyProviderIsUnknown()
      )
      return known
    })

    /** Forgets every model key of the owner's; his channels keep theirs. */
    const disable = Effect.fn("OwnModelKeys.disable")(function* (userId: UserId) {
      yield* vault.forget(userId, modelCredentialKeys)
    })

    return { isEnabled, enable, disable }
  })
}) {}
