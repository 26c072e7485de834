import { Context, type DateTime, type Effect, type Option } from "effect"
import type { UserId } from "../shared/UserId.ts"
import type { UserWallet, UserWalletExists, UserWalletKind, WalletKeyUnavailable } from "./UserWallet.ts"
import type { WalletKey } from "./WalletKeys.ts"

/** Stores wallets. Keys are sealed with user, kind and address. */
export class UserWalletRepository extends Context.Tag("@berth/UserWalletRepository")<
  UserWalletRepository,
  {
    /** Enforces one wallet per user and kind under concurrency. */
    readonly insert: (
      userId: UserId,
      kind: UserWalletKind,
      key: WalletKey & { readonly isSupplied: boolean }
    ) => Effect.Effect<UserWallet, UserWalletExists>
    readonly find: (userId: UserId, kind: UserWalletKind) => Effect.Effect<Option.Option<UserWallet>>
    readonly openKey: (wallet: UserWallet) => Effect.Effect<WalletKey["privateKey"], WalletKeyUnavailable>
    readonly recordBalance: (wallet: UserWallet, wei: bigint) => Effect.Effect<void>
    /** Removes a wallet whose key was supplied at `since` or later. Joins the running transaction. */
    readonly removeSuppliedSince: (userId: UserId, since: DateTime.Utc) => Effect.Effect<void>
  }
>() {}
