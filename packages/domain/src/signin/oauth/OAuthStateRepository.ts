import { Context, type DateTime, type Effect } from "effect"

/** Hashes of used OAuth states, kept until their tickets expire. */
export class OAuthStateRepository extends Context.Tag("@berth/OAuthStateRepository")<
  OAuthStateRepository,
  {
    /** Marks a state as used; false if it was already used. Atomic. */
    readonly consume: (stateHash: string, expiresAt: DateTime.Utc) => Effect.Effect<boolean>
    readonly removeExpired: (now: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
