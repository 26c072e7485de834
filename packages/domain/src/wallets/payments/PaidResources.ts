import { Context, Data, type Effect } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"
import type { SignedAuthorization } from "./WalletSigner.ts"

export interface ResourceRequest {
  readonly url: URL
  readonly method: "GET" | "POST"
  readonly body: string | null
}

/** An offered payment that this wallet supports: scheme `exact`, USDC, the wallet's network. */
export interface PaymentOffer {
  readonly amount: bigint
  readonly payee: WalletAddress
  readonly maximumSeconds: number
  /** Encodes the payment header. */
  readonly encode: (authorization: SignedAuthorization) => string
}

export type ResourceAnswer = Data.TaggedEnum<{
  readonly Content: { readonly status: number; readonly text: string }
  /** Response 402; null without an offer that this wallet supports. */
  readonly PaymentRequired: { readonly offer: PaymentOffer | null; readonly text: string }
}>
export const ResourceAnswer = Data.taggedEnum<ResourceAnswer>()

/** The reason is a sentence. */
export class PaidResourceUnavailable extends Data.TaggedError("PaidResourceUnavailable")<{
  readonly reason: string
}> {}

/** HTTP resources of other services with x402 payments. Private addresses and redirects are rejected. */
export class PaidResources extends Context.Tag("@berth/PaidResources")<
  PaidResources,
  {
    /** `payment` is the header made by `encode`. */
    readonly request: (
      request: ResourceRequest,
      payment?: string
    ) => Effect.Effect<ResourceAnswer, PaidResourceUnavailable>
  }
>() {}
