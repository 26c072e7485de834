import { Data } from "effect"

/** Chains whose nodes verify signatures. */
export type Chain = "base" | "ethereum"

/** `safe` is some minutes old; only a reorganization beyond Ethereum's justified checkpoint removes it. */
export type BlockTag = "latest" | "safe"

/** EIP-155 chain ids. */
export const chainIds: Record<Chain, number> = { base: 8453, ethereum: 1 }

/** The node's response was missing or unusable. `reason` excludes the node's URL, which may contain a key. */
export class ChainUnreachable extends Data.TaggedError("ChainUnreachable")<{ readonly reason: string }> {}
export class TokenContractNotFound extends Data.TaggedError("TokenContractNotFound")<object> {}
