import { Context, type DateTime, type Effect, type Option } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"
import type { Wallet } from "./Wallet.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Addresses are case-insensitive. */
export class WalletRepository extends Context.Tag("@berth/WalletRepository")<
  WalletRepository,
  {
    /** Exclusive per address until the transaction ends. */
    readonly lockAddress: (address: WalletAddress) => Effect.Effect<void>
    /** Exclusive per user until the transaction ends. Lock order: after the address. */
    readonly lockOwner: (userId: UserId) => Effect.Effect<void>
    readonly find: (address: WalletAddress) => Effect.Effect<Option.Option<Wallet>>
    /** Oldest first. */
    readonly listByUser: (userId: UserId) => Effect.Effect<ReadonlyArray<Wallet>>
    readonly insert: (wallet: Wallet) => Effect.Effect<void>
    /** Removes wallets linked at `since` or later. */
    readonly removeByUser: (userId: UserId, since: DateTime.Utc) => Effect.Effect<void>
    readonly remove: (address: WalletAddress) => Effect.Effect<void>
  }
>() {}
