import { Either, Schema } from "effect"
import { AgentId } from "../shared/AgentId.ts"
import { DelegationRefused } from "./A2aErrors.ts"

/** Maximum length of a chain. */
export const maximumDepth = 5

/** Maximum messages of a chain, over all branches. */
export const maximumChainMessages = 64

export const maximumBudgetUnits = 10_000
export const defaultBudgetUnits = 10

/** A chain of delegations: its length, the delegating agents in order, and the remaining units. */
export const Delegation = Schema.Struct({
  depth: Schema.Int,
  path: Schema.Array(AgentId),
  budgetUnits: Schema.Int
}).annotations({ identifier: "A2aDelegation" })
export type Delegation = typeof Delegation.Type

/** Level of a message and its senders in order. */
export type MessageChain = Pick<Delegation, "depth" | "path">

/** Chain of a sender that answers no message. */
export const emptyChain: MessageChain = { depth: 0, path: [] }

/**
 * Returns the chain of a message that follows `before`. Appends the sender unless the path ends with it. Rejects loops
 * and long chains.
 */
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

/** Returns the chain that messages of the receiver follow. */
export const continueChain = ({ depth, path }: MessageChain, receiver: AgentId): MessageChain => ({
  depth: depth + 1,
  path: [...path, receiver]
})
