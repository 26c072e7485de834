import { Either, Schema } from "effect"
import { AgentId } from "../shared/AgentId.ts"
import { DelegationRefused } from "./A2aErrors.ts"

/** Delegations in a row. */
export const maximumDepth = 5

/** Units of a delegated run of a skill: the message; no model is asked. */
export const delegationUnits = 1

/** A chain of delegations: its length, the agents that have delegated, the first one first, and the units left to it. */
export const Delegation = Schema.Struct({
  depth: Schema.Int,
  path: Schema.Array(AgentId),
  budgetUnits: Schema.Int
}).annotations({ identifier: "A2aDelegation" })
export type Delegation = typeof Delegation.Type

/**
 * The chain after a receiver has run its skill, for its own delegations. A sender that the path does not end with joins it.
 * Refuses loops, long chains and exhausted budgets.
 */
export const extendDelegation = (
  { budgetUnits, depth, path }: Delegation,
  { from, to }: { readonly from: AgentId; readonly to: AgentId }
): Either.Either<Delegation, DelegationRefused> => {
  const refuse = (reason: string) => Either.left(new DelegationRefused({ reason }))
  const senders = path.at(-1) === from ? path : [...path, from]
  const level = Math.max(depth, senders.length)
  if (depth < 0 || level > maximumDepth) return refuse(`\`delegation\`: a chain has at most ${maximumDepth} levels.`)
  if (senders.includes(to) || new Set(senders).size < senders.length) return refuse("`delegation.path` is a loop.")
  if (budgetUnits < delegationUnits) return refuse("`delegation.budgetUnits` does not cover the call.")
  return Either.right({ depth: level + 1, path: [...senders, to], budgetUnits: budgetUnits - delegationUnits })
}
