import { Context, type Option } from "effect"
import type { Chain } from "../chain/Chain.ts"
import type { WalletAddress } from "../chain/WalletAddress.ts"

/** The token that opens what is gated, and how much of it does. */
export interface GatingToken {
  readonly address: WalletAddress
  readonly symbol: string
  readonly chain: Chain
  /** In the token's smallest units. */
  readonly minBalance: bigint
}

/** What the operator sets about gating. */
export class GatingSettings extends Context.Tag("@berth/GatingSettings")<
  GatingSettings,
  {
    readonly token: Option.Option<GatingToken>
    /** Where the chain is asked, without anything in it that could be a key. */
    readonly rpcEndpoint: string
  }
>() {}
