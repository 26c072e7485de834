import { Context, type DateTime, type Effect } from "effect"

/** The states of OAuth sign-ins that have come back, hashed, for as long as they could come back again. */
export class OAuthStateRepository extends Context.Tag("@berth/OAuthStateRepository")<
  OAuthStateRepository,
  {
    /** Marks a state as used; false when it was. Of any number at once one gets true. */
    readonly consume: (stateHash: string, expiresAt: DateTime.Utc) => Effect.Effect<boolean>
    readonly removeExpired: (now: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
