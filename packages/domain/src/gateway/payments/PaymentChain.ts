import { Context, Data, type Effect } from "effect"
import type { ChainUnreachable } from "../../chain/ChainErrors.ts"

/** A transfer of a TIP-20 token. Addresses and memos in lower case. */
export interface TokenTransfer {
  readonly token: string
  readonly to: string
  /** In the token's smallest units. */
  readonly amount: bigint
  /** `0x` and 64 hex digits; undefined when it has none. */
  readonly memo: string | undefined
}

/** The effect of a signed transaction, decoded from its bytes. */
export interface SignedTransaction {
  /** Lower case. */
  readonly hash: string
  /** The bytes that the hash is of, which is what is sent: encodings of a signature that differ from it are put right. */
  readonly raw: string
  readonly chainId: number
  readonly transfers: ReadonlyArray<TokenTransfer>
  /** Not before and only before these seconds since the epoch; undefined where there is no bound. */
  readonly validAfter: number | undefined
  readonly validBefore: number | undefined
  /** Valid only with the signature of a fee payer. */
  readonly needsFeePayer: boolean
}

/** The state of a transaction on the chain. */
export type ChainTransaction = Data.TaggedEnum<{
  readonly Unknown: object
  /** Seen, and not yet final. */
  readonly Pending: object
  /** Final; the transfers are what happened, so there are none when it was reverted. */
  readonly Mined: { readonly succeeded: boolean; readonly transfers: ReadonlyArray<TokenTransfer> }
}>
export const ChainTransaction = Data.taggedEnum<ChainTransaction>()

/** The bytes are no signed transaction, or one of a kind that is not taken. */
export class TransactionUnreadable extends Data.TaggedError("TransactionUnreadable")<object> {}

/** Whether the network took a transaction; one that it has already is taken. */
export type BroadcastVerdict = "taken" | "refused"

/** The chain that machines pay on. That it cannot be reached is an error, and never a verdict about a payment. */
export class PaymentChain extends Context.Tag("@berth/PaymentChain")<
  PaymentChain,
  {
    /** Makes no request. */
    readonly decode: (raw: string) => Effect.Effect<SignedTransaction, TransactionUnreadable>
    readonly find: (hash: string) => Effect.Effect<ChainTransaction, ChainUnreachable>
    /** May be repeated: the same bytes are one transaction. */
    readonly broadcast: (raw: string) => Effect.Effect<BroadcastVerdict, ChainUnreachable>
  }
>() {}
