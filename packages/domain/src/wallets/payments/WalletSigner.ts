import { Context, type Effect, type Redacted } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"
import type { FeesAndNonce } from "../WalletChain.ts"
import type { SignedPayment } from "./WalletPayment.ts"

export interface PaymentAuthorization {
  readonly payee: WalletAddress
  readonly amount: bigint
  /** Seconds. */
  readonly validBefore: number
}

export interface SignedAuthorization {
  readonly from: WalletAddress
  readonly to: WalletAddress
  readonly value: bigint
  readonly validAfter: number
  readonly validBefore: number
  /** 32 bytes in hex. */
  readonly nonce: string
  readonly signature: string
}

/** Signs with the key of a wallet, without access to the chain. */
export class WalletSigner extends Context.Tag("@berth/WalletSigner")<
  WalletSigner,
  {
    /** Signs a transfer of USDC as a raw transaction. */
    readonly signTransfer: (
      key: Redacted.Redacted,
      transfer: { readonly payee: WalletAddress; readonly amount: bigint } & FeesAndNonce
    ) => Effect.Effect<SignedPayment>
    /** Signs `transferWithAuthorization` of USDC (EIP-3009) with a new nonce. */
    readonly signAuthorization: (
      key: Redacted.Redacted,
      authorization: PaymentAuthorization
    ) => Effect.Effect<SignedAuthorization>
  }
>() {}
