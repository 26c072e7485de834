import { Context, type DateTime, type Effect, type Redacted } from "effect"
import type { StoredCredentialKey, CredentialValues } from "./Credential.ts"
import type { UserId } from "../shared/UserId.ts"

/** Owners' credentials. Values are stored sealed for their owner and key. */
export class CredentialRepository extends Context.Tag("@berth/CredentialRepository")<
  CredentialRepository,
  {
    /** Replaces the previous value atomically. */
    readonly set: (userId: UserId, key: StoredCredentialKey, value: Redacted.Redacted) => Effect.Effect<void>
    /** The configured keys; decrypts none. */
    readonly listKeys: (userId: UserId) => Effect.Effect<ReadonlyArray<StoredCredentialKey>>
    /** Returns the number of removed credentials. */
    readonly remove: (userId: UserId, keys: ReadonlyArray<StoredCredentialKey>) => Effect.Effect<number>
    /** Removes credentials that were set at `since` or later. */
    readonly removeSince: (userId: UserId, since: DateTime.Utc) => Effect.Effect<void>
    /** The configured ones of `keys`. */
    readonly decrypt: (userId: UserId, keys: ReadonlyArray<StoredCredentialKey>) => Effect.Effect<CredentialValues>
  }
>() {}
