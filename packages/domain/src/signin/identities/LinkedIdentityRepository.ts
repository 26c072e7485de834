import { Context, type DateTime, type Effect, type Option } from "effect"
import type { ExternalIdentity, LinkedIdentity } from "./LinkedIdentity.ts"
import type { UserId } from "../../shared/UserId.ts"

export class LinkedIdentityRepository extends Context.Tag("@berth/LinkedIdentityRepository")<
  LinkedIdentityRepository,
  {
    /** Exclusive per identity until the transaction ends. */
    readonly lock: (identity: ExternalIdentity) => Effect.Effect<void>
    readonly find: (identity: ExternalIdentity) => Effect.Effect<Option.Option<LinkedIdentity>>
    /** Oldest first. */
    readonly listByUser: (userId: UserId) => Effect.Effect<ReadonlyArray<LinkedIdentity>>
    readonly insert: (linked: LinkedIdentity) => Effect.Effect<void>
    /** Removes identities linked at `since` or later. */
    readonly removeByUser: (userId: UserId, since: DateTime.Utc) => Effect.Effect<void>
  }
>() {}
