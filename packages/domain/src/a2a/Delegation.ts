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

/** The chain after a receiver has run its skill, for its own delegations. Refuses loops, long chains and exhausted budgets. */
export const extendDelegation = (
  { budgetUnits, depth, path }: Delegation,
  { from, to }: { readonly from: AgentId; readonly to: AgentId }
): Either.Either<Delegation, DelegationRefused> => {
  const refuse = (reason: string) => Either.left(new DelegationRefused({ reason }))
  if (depth < 1 || depth > maximumDepth) return refuse(`\`delegation.depth\` must be 1 to ${maximumDepth}.`)
  if (path.length !== depth || path.at(-1) !== from)
    return refuse("`delegation.path` must name one agent per level and end with `from`.")
  if (path.includes(to) || new Set(path).size < path.length) return refuse("`delegation.path` is a loop.")
  if (budgetUnits < delegationUnits) return refuse("`delegation.budgetUnits` does not cover the call.")
  return Either.right({ depth: depth + 1, path: [...path, to], budgetUnits: budgetUnits - delegationUnits })
}
