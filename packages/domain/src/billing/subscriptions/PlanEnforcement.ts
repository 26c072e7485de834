import { Context, type Effect } from "effect"
import type { UserId } from "../../shared/UserId.ts"

/** Applies a changed plan to the user's agents and instance. Every method joins the running transaction. */
export class PlanEnforcement extends Context.Tag("@berth/PlanEnforcement")<
  PlanEnforcement,
  {
    /** Serializes with provisioning until the transaction ends, so that no new agent exceeds the limit. */
    readonly lockOwner: (userId: UserId) => Effect.Effect<void>
    /** Stops the newest agents above the limit without deleting them. Returns the number of stopped agents. */
    readonly enforce: (userId: UserId, limit: number) => Effect.Effect<number>
    /** Applies plan features and limits to the user's running instance. */
    readonly entitlementsChanged: (userId: UserId) => Effect.Effect<void>
  }
>() {}
