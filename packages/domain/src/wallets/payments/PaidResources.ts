import { Context, Data, type Effect } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"
import type { SignedAuthorization } from "./WalletSigner.ts"

export interface ResourceRequest {
  readonly url: URL
  readonly method: "GET" | "POST"
  readonly body: string | null
}

/** A way to pay that the service offers and this wallet has: scheme `exact`, USDC, the wallet's network. */
export interface PaymentOffer {
  readonly amount: bigint
  readonly payee: WalletAddress
  readonly maximumSeconds: number
  /** The header of the payment. */
  readonly encode: (authorization: SignedAuthorization) => string
}

export type ResourceAnswer = Data.TaggedEnum<{
  readonly Content: { readonly status: number; readonly text: string }
  /** 402; null without an offer that this wallet can pay. */
  readonly PaymentRequired: { readonly offer: PaymentOffer | null; readonly text: string }
}>
export const ResourceAnswer = Data.taggedEnum<ResourceAnswer>()

/** The reason is a sentence. */
export class PaidResourceUnavailable extends Data.TaggedError("PaidResourceUnavailable")<{
  readonly reason: string
}> {}

/** HTTP resources of other services that ask for payment by x402. Private addresses and redirects are refused. */
export class PaidResources extends Context.Tag("@berth/PaidResources")<
  PaidResources,
  {
    /** `payment` is the header that `encode` made. */
    readonly request: (
      request: ResourceRequest,
      payment?: string
    ) => Effect.Effect<ResourceAnswer, PaidResourceUnavailable>
  }
>() {}
