/** Chains whose nodes verify signatures. */
export type Chain = "base" | "ethereum"

/** EIP-155 chain ids. */
export const chainIds: Record<Chain, number> = { base: 8453, ethereum: 1 }
