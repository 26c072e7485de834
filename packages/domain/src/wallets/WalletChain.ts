import { Context, type Effect } from "effect"
import type { ChainUnreachable } from "../chain/ChainErrors.ts"
import type { WalletAddress } from "../chain/WalletAddress.ts"

/** The chain of the user wallets. A node of another chain counts as unreachable. */
export class WalletChain extends Context.Tag("@berth/WalletChain")<
  WalletChain,
  {
    /** In wei. */
    readonly readBalance: (address: WalletAddress) => Effect.Effect<bigint, ChainUnreachable>
  }
>() {}
