import { Context, type Option } from "effect"
import type { WalletAddress } from "../chain/WalletAddress.ts"

/** Token and minimum balance for gated access. */
export interface GatingToken {
  readonly address: WalletAddress
  readonly symbol: string
  readonly chain: "base"
  /** In the token's smallest units. */
  readonly minBalance: bigint
}

export class GatingSettings extends Context.Tag("@berth/GatingSettings")<
  GatingSettings,
  {
    readonly token: Option.Option<GatingToken>
    /** Origin of the RPC endpoint; path and query may contain a key. */
    readonly rpcEndpoint: string
  }
>() {}
