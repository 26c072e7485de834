import { Context, Data, type Effect, type Option } from "effect"
import type { WalletAddress } from "../chain/WalletAddress.ts"

export class DeveloperWalletsNotConfigured extends Data.TaggedError("DeveloperWalletsNotConfigured")<object> {}
/** `reason` names the failure without the vendor's text. */
export class DeveloperWalletFailed extends Data.TaggedError("DeveloperWalletFailed")<{ readonly reason: string }> {}

interface NewDeveloperWallet {
  /** Unique in the project; a repeated creation returns the existing wallet. */
  readonly name: string
  /** UUID. */
  readonly idempotencyKey: string
}

export interface DeveloperPlatform {
  readonly projectId: string
  /** Idempotent by `name`, so that a lost response creates no second wallet. */
  readonly create: (wallet: NewDeveloperWallet) => Effect.Effect<WalletAddress, DeveloperWalletFailed>
}

/** Wallets of the developer platform (CDP), if configured. */
export class DeveloperWallets extends Context.Tag("@berth/DeveloperWallets")<
  DeveloperWallets,
  Option.Option<DeveloperPlatform>
>() {}
