import { Context, type Effect, type Option } from "effect"
import type { UserId } from "../accounts/User.ts"
import type { ExternalIdentity, LinkedIdentity } from "./LinkedIdentity.ts"

/** Which identities lead into which accounts. */
export class LinkedIdentityRepository extends Context.Tag("@berth/LinkedIdentityRepository")<
  LinkedIdentityRepository,
  {
    /** Until the transaction ends nobody else gets past this with the same identity. */
    readonly hold: (identity: ExternalIdentity) => Effect.Effect<void>
    readonly find: (identity: ExternalIdentity) => Effect.Effect<Option.Option<LinkedIdentity>>
    /** The oldest first. */
    readonly listOf: (userId: UserId) => Effect.Effect<ReadonlyArray<LinkedIdentity>>
    readonly insert: (linked: LinkedIdentity) => Effect.Effect<void>
    readonly removeAllOf: (userId: UserId) => Effect.Effect<void>
  }
>() {}
