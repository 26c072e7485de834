import { Either, Schema } from "effect"
import { AgentId } from "../shared/AgentId.ts"
import { DelegationRefused } from "./A2aErrors.ts"

/** Messages in a row. */
export const maximumDepth = 5

/** Messages of a chain, over all its branches. */
export const maximumChainMessages = 64

/** Units of a delegation: at most, and of one that names none. */
export const maximumBudgetUnits = 10_000
export const defaultBudgetUnits = 10

/** A chain of delegations: its length, the agents that have delegated, the first one first, and the units left to it. */
export const Delegation = Schema.Struct({
  depth: Schema.Int,
  path: Schema.Array(AgentId),
  budgetUnits: Schema.Int
}).annotations({ identifier: "A2aDelegation" })
export type Delegation = typeof Delegation.Type

/** The level of a message and the senders up to it, the first one first. */
export type MessageChain = Pick<Delegation, "depth" | "path">

/** The chain of a sender that no message has reached. */
export const emptyChain: MessageChain = { depth: 0, path: [] }

/** The chain of a message that follows `before`. A sender that the path does not end with joins it. Refuses loops and long chains. */
export const extendChain = (
  { depth, path }: MessageChain,
  { from, to }: { readonly from: AgentId; readonly to: AgentId }
): Either.Either<MessageChain, DelegationRefused> => {
  const refuse = (reason: string) => Either.left(new DelegationRefused({ reason }))
  const senders = path.at(-1) === from ? path : [...path, from]
  const level = Math.max(depth, senders.length)
  if (depth < 0 || level > maximumDepth) return refuse(`A chain of messages has at most ${maximumDepth} levels.`)
  if (senders.includes(to) || new Set(senders).size < senders.length)
    return refuse("The chain of messages is a loop: `to` has sent one of them.")
  return Either.right({ depth: level, path: senders })
}

/** The chain that the receiver's own messages follow. */
export const continueChain = ({ depth, path }: MessageChain, receiver: AgentId): MessageChain => ({
  depth: depth + 1,
  path: [...path, receiver]
})
