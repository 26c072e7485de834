import { Context, type Duration, type Effect, type Option } from "effect"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

/** Operator settings of unclaimed agents. */
export class UnclaimedPolicy extends Context.Tag("@berth/UnclaimedPolicy")<
  UnclaimedPolicy,
  {
    /** Time until the instance is stopped; after twice that time the account is deleted. */
    readonly lifetime: Duration.Duration
    /** Agents that wait for their claim at once. */
    readonly maximum: number
  }
>() {}

export interface UnclaimedAgent {
  readonly ownerId: UserId
  readonly agentId: AgentId
}

/** Stores which anonymous owners wait for a claim. */
export class UnclaimedAgents extends Context.Tag("@berth/UnclaimedAgents")<
  UnclaimedAgents,
  {
    readonly count: Effect.Effect<number>
    /** False when `maximum` agents wait already; exact under concurrent calls. Joins the running transaction. */
    readonly insert: (agent: UnclaimedAgent & { readonly codeHash: string }, maximum: number) => Effect.Effect<boolean>
    /** Takes the agent of the code out; of concurrent calls one gets it. Joins the running transaction. */
    readonly take: (codeHash: string) => Effect.Effect<Option.Option<UnclaimedAgent>>
    /** Marks the owners that have waited for `age` and are not marked yet. Joins the running transaction. */
    readonly markStopped: (age: Duration.Duration) => Effect.Effect<ReadonlyArray<UserId>>
    readonly markRemoved: (age: Duration.Duration) => Effect.Effect<ReadonlyArray<UserId>>
  }
>() {}
