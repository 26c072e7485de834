import { Context, type Effect, type Option } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"
import type { Wallet } from "./Wallet.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Which wallets are whose. Addresses are the same in any case. */
export class WalletRepository extends Context.Tag("@berth/WalletRepository")<
  WalletRepository,
  {
    /** Until the transaction ends nobody else gets past this with the same address. */
    readonly lockAddress: (address: WalletAddress) => Effect.Effect<void>
    /** Until the transaction ends nobody else gets past this with the same user. */
    readonly lockOwner: (userId: UserId) => Effect.Effect<void>
    readonly find: (address: WalletAddress) => Effect.Effect<Option.Option<Wallet>>
    /** The oldest first. */
    readonly listByUser: (userId: UserId) => Effect.Effect<ReadonlyArray<Wallet>>
    readonly insert: (wallet: Wallet) => Effect.Effect<void>
    readonly removeByUser: (userId: UserId) => Effect.Effect<void>
    readonly remove: (address: WalletAddress) => Effect.Effect<void>
  }
>() {}
