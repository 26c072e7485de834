import { Data } from "effect"

/** Micro USDC that an agent may spend. Set by the owner; no call can change them. */
export interface SpendLimits {
  readonly perCall: bigint
  /** Maximum per UTC day. */
  readonly perDay: bigint
  /** Maximum over the agent's lifetime. */
  readonly perAgent: bigint
  /** Larger payments require the owner's approval. */
  readonly confirmAbove: bigint
}

export type SpendingLimit = Exclude<keyof SpendLimits, "confirmAbove">

/** Whether the new limits allow any spending that the old ones do not. */
export const raisesLimits = (from: SpendLimits, to: SpendLimits): boolean =>
  to.perCall > from.perCall ||
  to.perDay > from.perDay ||
  to.perAgent > from.perAgent ||
  to.confirmAbove > from.confirmAbove

/** Default without limits of the owner: nothing can be spent. */
export const noSpending: SpendLimits = { perCall: 0n, perDay: 0n, perAgent: 0n, confirmAbove: 0n }

/** Maximum limit: a billion USDC. */
export const maximumLimit = 10n ** 15n

/** Sums of the agent's reserved, sent and confirmed payments. */
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

/** Decides on a payment. An approval does not lift the other limits. */
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
