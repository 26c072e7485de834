import { Context, type Effect } from "effect"
import type { UserId } from "../../shared/UserId.ts"

/** Applies a changed plan to what the user runs. Every method joins the running transaction. */
export class PlanEnforcement extends Context.Tag("@berth/PlanEnforcement")<
  PlanEnforcement,
  {
    /** Serializes with provisioning until the transaction ends, so that no agent escapes the limit. */
    readonly lockOwner: (userId: UserId) => Effect.Effect<void>
    /** Stops the newest agents above the limit and deletes none. Returns the number stopped. */
    readonly enforce: (userId: UserId, limit: number) => Effect.Effect<number>
    /** Brings plan features and limits to the user's running instance. */
    readonly entitlementsChanged: (userId: UserId) => Effect.Effect<void>
  }
>() {}
