import { Context, type Effect } from "effect"
import type { ChainUnreachable, TokenContractNotFound } from "./Chain.ts"
import type { WalletAddress } from "./WalletAddress.ts"

export interface BalanceQuery {
  readonly chain: "base"
  readonly token: WalletAddress
  readonly holder: WalletAddress
}

/** ERC-20 balances in the token's smallest units. */
export class TokenBalances extends Context.Tag("@berth/TokenBalances")<
  TokenBalances,
  {
    readonly balanceOf: (query: BalanceQuery) => Effect.Effect<bigint, ChainUnreachable | TokenContractNotFound>
  }
>() {}
