import { Data } from "effect"

/** The chain's node gave no usable answer, so nothing is known. `reason` names the trouble and never the node's address, which may hold a key. */
export class ChainUnreachable extends Data.TaggedError("ChainUnreachable")<{ readonly reason: string }> {}
/** There is no token at the address. */
export class TokenContractNotFound extends Data.TaggedError("TokenContractNotFound")<object> {}
