import { Context, type Effect, type Redacted } from "effect"
import type { CredentialKey, CredentialValues } from "./Credential.ts"
import type { UserId } from "../shared/UserId.ts"

/** Owners' credentials. A value is sealed for its owner and key before it reaches a row, and opens in no other row. */
export class CredentialRepository extends Context.Tag("@berth/CredentialRepository")<
  CredentialRepository,
  {
    /** Stores a value in place of the one before; of several at once one stays, whole. */
    readonly set: (userId: UserId, key: CredentialKey, value: Redacted.Redacted) => Effect.Effect<void>
    /** Which credentials the owner has, without opening any. */
    readonly listKeys: (userId: UserId) => Effect.Effect<ReadonlyArray<CredentialKey>>
    /** Forgets those of `keys` that the owner has; answers how many. */
    readonly remove: (userId: UserId, keys: ReadonlyArray<CredentialKey>) => Effect.Effect<number>
    /** Opens those of `keys` that the owner has, and no others. */
    readonly decrypt: (userId: UserId, keys: ReadonlyArray<CredentialKey>) => Effect.Effect<CredentialValues>
  }
>() {}
