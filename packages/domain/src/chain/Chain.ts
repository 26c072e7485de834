import { Schema } from "effect"

/** The chains that this service asks. */
export const Chain = Schema.Literal("base").annotations({ identifier: "Chain" })
export type Chain = typeof Chain.Type

/** EIP-155 ids. */
export const chainIds: Record<Chain, number> = { base: 8453 }
