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

/** Share of a client network in the maximum, so that few networks cannot use it up. */
const networkShare = 0.05
const leastNetworkShare = 5

/** Agents of one network that wait for their claim at once. */
export const computeNetworkMaximum = (maximum: number): number =>
  Math.min(maximum, Math.max(leastNetworkShare, Math.floor(maximum * networkShare)))

export interface NewUnclaimedAgent extends UnclaimedAgent {
  readonly codeHash: string
  /** Of the client that provisioned it; none for a program of the operator. */
  readonly network: Option.Option<string>
}

export interface UnclaimedCount {
  readonly total: number
  readonly ofNetwork: number
}

/** Stores which anonymous owners wait for a claim. */
export class UnclaimedAgents extends Context.Tag("@berth/UnclaimedAgents")<
  UnclaimedAgents,
  {
    readonly count: (network: Option.Option<string>) => Effect.Effect<UnclaimedCount>
    /** Serializes the rest of the transaction over all insertions, so that a count is exact until the commit. */
    readonly lock: Effect.Effect<void>
    /** Joins the running transaction. */
    readonly insert: (agent: NewUnclaimedAgent) => Effect.Effect<void>
    /** Takes the agent of the code out; of concurrent calls one gets it. Joins the running transaction. */
    readonly take: (codeHash: string) => Effect.Effect<Option.Option<UnclaimedAgent>>
    /** Marks the owners that have waited for `age` and are not marked yet. Joins the running transaction. */
    readonly markStopped: (age: Duration.Duration) => Effect.Effect<ReadonlyArray<UnclaimedAgent>>
    readonly markRemoved: (age: Duration.Duration) => Effect.Effect<ReadonlyArray<UnclaimedAgent>>
  }
>() {}
