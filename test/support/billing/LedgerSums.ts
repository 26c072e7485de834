import type { LedgerAccount } from "@berth/domain/billing/units/LedgerAudit"

/** One side of a movement of units; the entries of a transaction sum to zero. */
export interface LedgerEntry {
  readonly transactionId: string
  readonly account: LedgerAccount
  readonly units: number
}

type LedgerBalances = Readonly<Record<LedgerAccount, number>>

const nothing: LedgerBalances = { allowance: 0, credits: 0, usage: 0, grants: 0, purchases: 0 }

/** Sum of the entries per account. */
export const computeBalances = (entries: Iterable<LedgerEntry>): LedgerBalances => {
  const balances = { ...nothing }
  for (const { account, units } of entries) balances[account] += units
  return balances
}

/** Transactions with a nonzero sum, and that sum. */
export const findUnbalanced = (entries: Iterable<LedgerEntry>): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>()
  for (const { transactionId, units } of entries) sums.set(transactionId, (sums.get(transactionId) ?? 0) + units)
  return new Map([...sums].filter(([, sum]) => sum !== 0))
}
