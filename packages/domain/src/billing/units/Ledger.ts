/** `allowance`: daily units. `grants` and `purchases`: sources of credits, without and with payment. */
export type LedgerAccount = "allowance" | "credits" | "usage" | "grants" | "purchases"
