import { Context, type Duration, type Effect, type Option } from "effect"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"

export class UnclaimedPolicy extends Context.Tag("@berth/UnclaimedPolicy")<
  UnclaimedPolicy,
  {
    /** Time until the instance is stopped; after twice that time the account is deleted. */
    readonly lifetime: Duration.Duration
    readonly maximum: number
  }
>() {}

interface UnclaimedAgent {
  readonly ownerId: UserId
  readonly agentId: AgentId
}

/** Maximum share of a client network, so that a few networks cannot exhaust the maximum. */
const networkShare = 0.05
const leastNetworkShare = 5

export const computeNetworkMaximum = (maximum: number): number =>
  Math.min(maximum, Math.max(leastNetworkShare, Math.floor(maximum * networkShare)))

interface NewUnclaimedAgent extends UnclaimedAgent {
  readonly codeHash: string
  /** Network of the provisioning client; none for a program of the operator. */
  readonly network: Option.Option<string>
}

interface UnclaimedCount {
  readonly total: number
  readonly ofNetwork: number
}

/** Stores the anonymous owners of unclaimed agents. */
export class UnclaimedAgents extends Context.Tag("@berth/UnclaimedAgents")<
  UnclaimedAgents,
  {
    readonly count: (network: Option.Option<string>) => Effect.Effect<UnclaimedCount>
    /** Serializes insertions until the transaction ends, so that a count is exact until the commit. */
    readonly lock: Effect.Effect<void>
    /** Joins the running transaction. */
    readonly insert: (agent: NewUnclaimedAgent) => Effect.Effect<void>
    /**
     * Removes and returns the agent of a code; of concurrent calls exactly one receives it. Joins the running
     * transaction.
     */
    readonly take: (codeHash: string) => Effect.Effect<Option.Option<UnclaimedAgent>>
    /** Marks owners that have waited for `age` and are not yet marked. Joins the running transaction. */
    readonly markStopped: (age: Duration.Duration) => Effect.Effect<ReadonlyArray<UnclaimedAgent>>
    readonly markRemoved: (age: Duration.Duration) => Effect.Effect<ReadonlyArray<UnclaimedAgent>>
  }
>() {}
