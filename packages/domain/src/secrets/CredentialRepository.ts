import { Context, type DateTime, type Effect, type Redacted } from "effect"
import type { StoredCredentialKey, CredentialValues } from "./Credential.ts"
import type { UserId } from "../shared/UserId.ts"

/** Credentials of owners. Values are sealed for their owner and key. */
export class CredentialRepository extends Context.Tag("@berth/CredentialRepository")<
  CredentialRepository,
  {
    /** Replaces the previous value atomically. */
    readonly set: (userId: UserId, key: StoredCredentialKey, value: Redacted.Redacted) => Effect.Effect<void>
    /** Configured keys, without decryption. */
    readonly listKeys: (userId: UserId) => Effect.Effect<ReadonlyArray<StoredCredentialKey>>
    /** Returns the number of removed credentials. */
    readonly remove: (userId: UserId, keys: ReadonlyArray<StoredCredentialKey>) => Effect.Effect<number>
    /** Removes credentials set at `since` or later. */
    readonly removeSince: (userId: UserId, since: DateTime.Utc) => Effect.Effect<void>
    /** Decrypts the configured credentials among `keys`. */
    readonly decrypt: (userId: UserId, keys: ReadonlyArray<StoredCredentialKey>) => Effect.Effect<CredentialValues>
  }
>() {}
