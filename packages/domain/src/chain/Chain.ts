import { Schema } from "effect"

/** Supported chains. */
export const Chain = Schema.Literal("base").annotations({ identifier: "Chain" })
export type Chain = typeof Chain.Type

/** EIP-155 chain ids. */
export const chainIds: Record<Chain, number> = { base: 8453 }
