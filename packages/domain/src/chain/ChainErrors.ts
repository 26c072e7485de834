import { Data } from "effect"

/** The node's response was missing or unusable. `reason` excludes the node's URL, which may contain a key. */
export class ChainUnreachable extends Data.TaggedError("ChainUnreachable")<{ readonly reason: string }> {}
export class TokenContractNotFound extends Data.TaggedError("TokenContractNotFound")<object> {}
