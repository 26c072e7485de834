import { Context, type Effect, type Redacted } from "effect"
import type { WalletAddress } from "../chain/WalletAddress.ts"
import type { PrivateKeyInvalid } from "./UserWallet.ts"

export interface WalletKey {
  readonly address: WalletAddress
  /** `0x` and 64 hex digits. */
  readonly privateKey: Redacted.Redacted
}

/** Private keys of externally owned accounts. */
export class WalletKeys extends Context.Tag("@berth/WalletKeys")<
  WalletKeys,
  {
    readonly generate: Effect.Effect<WalletKey>
    readonly parse: (privateKey: Redacted.Redacted) => Effect.Effect<WalletKey, PrivateKeyInvalid>
  }
>() {}
