/**
 * `allowance`: daily units of the plan; `credits`: what the user has; `usage`: what was used up; `grants` and `purchases`:
 * where credits come from, for nothing and for money.
 */
export type LedgerAccount = "allowance" | "credits" | "usage" | "grants" | "purchases"

/** One side of a movement of units; the entries of a transaction add up to zero. */
export interface LedgerEntry {
  readonly transactionId: string
  readonly account: LedgerAccount
  readonly units: number
}

export type LedgerBalances = Readonly<Record<LedgerAccount, number>>

const nothing: LedgerBalances = { allowance: 0, credits: 0, usage: 0, grants: 0, purchases: 0 }

/** What stands on every account when these entries are all there are. */
export const computeBalances = (entries: Iterable<LedgerEntry>): LedgerBalances => {
  const balances = { ...nothing }
  for (const { account, units } of entries) balances[account] += units
  return balances
}

/** The transactions whose entries do not add up to zero, with what they add up to. */
export const findUnbalanced = (entries: Iterable<LedgerEntry>): ReadonlyMap<string, number> => {
  const sums = new Map<string, number>()
  for (const { transactionId, units } of entries) sums.set(transactionId, (sums.get(transactionId) ?? 0) + units)
  return new Map([...sums].filter(([, sum]) => sum !== 0))
}
