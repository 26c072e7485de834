import { Context, type Effect } from "effect"
import type { ChainUnreachable } from "../chain/ChainErrors.ts"
import type { WalletAddress } from "../chain/WalletAddress.ts"

export interface FeesAndNonce {
  readonly nonce: number
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** `unknown`: not mined, and possibly never seen by the node. */
export type TransactionFate = "succeeded" | "reverted" | "unknown"

/** `open` can still be submitted by its holder. */
export type AuthorizationFate = "used" | "open" | "expired"

/** The chain of the user wallets. A node of another chain counts as unreachable. */
export class WalletChain extends Context.Tag("@berth/WalletChain")<
  WalletChain,
  {
    /** In wei. */
    readonly readBalance: (address: WalletAddress) => Effect.Effect<bigint, ChainUnreachable>
    /** In micro USDC. */
    readonly readUsdcBalance: (address: WalletAddress) => Effect.Effect<bigint, ChainUnreachable>
    /** For the next transaction, pending ones included. */
    readonly readFeesAndNonce: (address: WalletAddress) => Effect.Effect<FeesAndNonce, ChainUnreachable>
    /** Idempotent. A refusal of the node is no failure, because the transaction can be mined already: its fate decides. */
    readonly broadcast: (rawTransaction: string) => Effect.Effect<void, ChainUnreachable>
    readonly findFate: (transactionHash: string) => Effect.Effect<TransactionFate, ChainUnreachable>
    /** Of an EIP-3009 authorization, at the time of the latest block. */
    readonly findAuthorization: (
      authorizer: WalletAddress,
      nonce: string,
      validBefore: number
    ) => Effect.Effect<AuthorizationFate, ChainUnreachable>
  }
>() {}
