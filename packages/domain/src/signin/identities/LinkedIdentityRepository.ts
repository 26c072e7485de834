import { Context, type Effect, type Option } from "effect"
import type { ExternalIdentity, LinkedIdentity } from "./LinkedIdentity.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Which identities lead into which accounts. */
export class LinkedIdentityRepository extends Context.Tag("@berth/LinkedIdentityRepository")<
  LinkedIdentityRepository,
  {
    /** Until the transaction ends nobody else gets past this with the same identity. */
    readonly lock: (identity: ExternalIdentity) => Effect.Effect<void>
    readonly find: (identity: ExternalIdentity) => Effect.Effect<Option.Option<LinkedIdentity>>
    /** The oldest first. */
    readonly listByUser: (userId: UserId) => Effect.Effect<ReadonlyArray<LinkedIdentity>>
    readonly insert: (linked: LinkedIdentity) => Effect.Effect<void>
    readonly removeByUser: (userId: UserId) => Effect.Effect<void>
  }
>() {}
