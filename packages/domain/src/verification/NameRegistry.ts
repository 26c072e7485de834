import { Context, type Effect, type Option } from "effect"
import type { ChainUnreachable } from "../chain/ChainErrors.ts"
import type { WalletAddress } from "../chain/WalletAddress.ts"

/** ENS names in blocks that a reorganization does not remove. */
export class NameRegistry extends Context.Tag("@berth/NameRegistry")<
  NameRegistry,
  {
    /** The name that the wallet claims; none if it is not in normal form (ENSIP-15). */
    readonly findPrimaryName: (wallet: WalletAddress) => Effect.Effect<Option.Option<string>, ChainUnreachable>
    /** The Ethereum address of a name in normal form. */
    readonly findAddress: (name: string) => Effect.Effect<Option.Option<WalletAddress>, ChainUnreachable>
  }
>() {}
