import { Context, type Effect, type Option } from "effect"
import type { BlockTag, ChainUnreachable } from "../chain/Chain.ts"
import type { WalletAddress } from "../chain/WalletAddress.ts"

/** ENS names. */
export class NameRegistry extends Context.Tag("@berth/NameRegistry")<
  NameRegistry,
  {
    /** Returns the name that the wallet claims; none if it is not in normal form (ENSIP-15). */
    readonly findPrimaryName: (
      wallet: WalletAddress,
      at: BlockTag
    ) => Effect.Effect<Option.Option<string>, ChainUnreachable>
    /** The Ethereum address of a name in normal form. */
    readonly findAddress: (name: string, at: BlockTag) => Effect.Effect<Option.Option<WalletAddress>, ChainUnreachable>
  }
>() {}
