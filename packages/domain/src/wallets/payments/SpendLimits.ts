import { Data } from "effect"

/** Micro USDC that an agent may spend: the owner sets them, no call can change them. */
export interface SpendLimits {
  readonly perCall: bigint
  /** Per UTC day. */
  readonly perDay: bigint
  /** In the agent's whole life. */
  readonly perAgent: bigint
  /** Payments above wait for the owner's approval. */
  readonly confirmAbove: bigint
}

export type SpendingLimit = Exclude<keyof SpendLimits, "confirmAbove">

/** Whether the agent may do something with the new limits that it may not with the old ones. */
export const raisesLimits = (from: SpendLimits, to: SpendLimits): boolean =>
  to.perCall > from.perCall ||
  to.perDay > from.perDay ||
  to.perAgent > from.perAgent ||
  to.confirmAbove > from.confirmAbove

/** Nothing can be spent until the owner sets limits. */
export const noSpending: SpendLimits = { perCall: 0n, perDay: 0n, perAgent: 0n, confirmAbove: 0n }

/** Largest limit: a billion USDC. */
export const maximumLimit = 10n ** 15n

/** Reserved, sent and confirmed payments of the agent. */
export interface SpentAmounts {
  readonly today: bigint
  readonly total: bigint
}

export type SpendDecision = Data.TaggedEnum<{
  readonly Allowed: object
  readonly ApprovalNeeded: object
  readonly Refused: { readonly limit: SpendingLimit }
}>
export const SpendDecision = Data.taggedEnum<SpendDecision>()

/** Decides about a payment; an approval does not lift the other limits. */
export const decideSpend = (
  limits: SpendLimits,
  spent: SpentAmounts,
  amount: bigint,
  isApproved: boolean
): SpendDecision => {
  if (amount > limits.perCall) return SpendDecision.Refused({ limit: "perCall" })
  if (spent.today + amount > limits.perDay) return SpendDecision.Refused({ limit: "perDay" })
  if (spent.total + amount > limits.perAgent) return SpendDecision.Refused({ limit: "perAgent" })
  return amount > limits.confirmAbove && !isApproved ? SpendDecision.ApprovalNeeded() : SpendDecision.Allowed()
}
