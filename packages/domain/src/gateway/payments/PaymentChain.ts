import { Context, Data, type Effect } from "effect"
import type { ChainUnreachable } from "../../chain/Chain.ts"

/** A transfer of a TIP-20 token. Addresses and memos in lower case. */
export interface TokenTransfer {
  readonly token: string
  readonly to: string
  /** In the token's smallest units. */
  readonly amount: bigint
  /** `0x` and 64 hex digits; undefined without a memo. */
  readonly memo: string | undefined
}

/** The effect of a signed transaction, decoded from its bytes. */
export interface SignedTransaction {
  /** Lower case. */
  readonly hash: string
  /** Bytes under the hash, which are broadcast: signatures in another encoding are normalized. */
  readonly raw: string
  readonly chainId: number
  readonly transfers: ReadonlyArray<TokenTransfer>
  /** Validity in seconds since the epoch; undefined without a bound. */
  readonly validAfter: number | undefined
  readonly validBefore: number | undefined
  /** Whether the transaction requires the signature of a fee payer. */
  readonly needsFeePayer: boolean
}

export type ChainTransaction = Data.TaggedEnum<{
  readonly Unknown: object
  /** Known but not final. */
  readonly Pending: object
  /** Final. `transfers` are the executed ones; empty for a reverted transaction. */
  readonly Mined: { readonly succeeded: boolean; readonly transfers: ReadonlyArray<TokenTransfer> }
}>
export const ChainTransaction = Data.taggedEnum<ChainTransaction>()

/** The bytes are not a signed transaction of a supported type. */
export class TransactionUnreadable extends Data.TaggedError("TransactionUnreadable")<object> {}

/** Whether the network accepted a transaction; `taken` includes a known transaction. */
export type BroadcastVerdict = "taken" | "refused"

/** Chain of machine payments. An unreachable chain is an error, never a verdict on a payment. */
export class PaymentChain extends Context.Tag("@berth/PaymentChain")<
  PaymentChain,
  {
    /** Decodes locally, without a request. */
    readonly decode: (raw: string) => Effect.Effect<SignedTransaction, TransactionUnreadable>
    readonly find: (hash: string) => Effect.Effect<ChainTransaction, ChainUnreachable>
    /** Idempotent: equal bytes are one transaction. */
    readonly broadcast: (raw: string) => Effect.Effect<BroadcastVerdict, ChainUnreachable>
  }
>() {}
