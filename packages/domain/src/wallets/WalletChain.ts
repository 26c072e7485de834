import { Context, type Effect } from "effect"
import type { ChainUnreachable } from "../chain/Chain.ts"
import type { WalletAddress } from "../chain/WalletAddress.ts"

export interface FeesAndNonce {
  readonly nonce: number
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** `unknown`: not mined, and possibly unknown to the node. */
export type TransactionStatus = "succeeded" | "reverted" | "unknown"

/** `open`: its holder can still submit it. */
export type AuthorizationStatus = "used" | "open" | "expired"

/** Chain of the user wallets. A node of another chain counts as unreachable. */
export class WalletChain extends Context.Tag("@berth/WalletChain")<
  WalletChain,
  {
    /** In wei. */
    readonly readBalance: (address: WalletAddress) => Effect.Effect<bigint, ChainUnreachable>
    /** In micro USDC. */
    readonly readUsdcBalance: (address: WalletAddress) => Effect.Effect<bigint, ChainUnreachable>
    /** For the next transaction, after pending ones. */
    readonly readFeesAndNonce: (address: WalletAddress) => Effect.Effect<FeesAndNonce, ChainUnreachable>
    /**
     * Idempotent. A rejection by the node is not a failure, since the transaction may already be mined; its status
     * decides.
     */
    readonly broadcast: (rawTransaction: string) => Effect.Effect<void, ChainUnreachable>
    readonly findTransactionStatus: (transactionHash: string) => Effect.Effect<TransactionStatus, ChainUnreachable>
    /** Returns the state of an EIP-3009 authorization at the time of the latest block. */
    readonly findAuthorization: (
      authorizer: WalletAddress,
      nonce: string,
      validBefore: number
    ) => Effect.Effect<AuthorizationStatus, ChainUnreachable>
  }
>() {}
