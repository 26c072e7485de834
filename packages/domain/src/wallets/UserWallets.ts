import { Effect, Option, type Redacted } from "effect"
import { RateLimiter } from "../limits/RateLimiter.ts"
import type { UserId } from "../shared/UserId.ts"
import { type UserWallet, UserWalletExists, UserWalletNotFound } from "./UserWallet.ts"
import { UserWalletRepository } from "./UserWalletRepository.ts"
import { WalletChain } from "./WalletChain.ts"
import { WalletKeys } from "./WalletKeys.ts"

/** Wallets with keys held by the service for its users. No response contains a key. */
export class UserWallets extends Effect.Service<UserWallets>()("@berth/UserWallets", {
  effect: Effect.gen(function* () {
    const chain = yield* WalletChain
    const keys = yield* WalletKeys
    const limiter = yield* RateLimiter
    const repository = yield* UserWalletRepository

    /** Returns the balance on the chain, else the last known balance. */
    const readBalance = (wallet: UserWallet) =>
      chain.readBalance(wallet.address).pipe(
        Effect.tap((wei) =>
          Option.contains(wallet.balance, wei) ? Effect.void : repository.recordBalance(wallet, wei)
        ),
        Effect.map((wei) => ({ wei: Option.some(wei), isCurrent: true })),
        Effect.catchTag("ChainUnreachable", () => Effect.succeed({ wei: wallet.balance, isCurrent: false }))
      )

    const create = Effect.fn("UserWallets.create")(function* (userId: UserId) {
      const wallet = yield* repository.insert(userId, "user", { ...(yield* keys.generate), isSupplied: false })
      yield* Effect.logInfo("User wallet created").pipe(Effect.annotateLogs({ userId, address: wallet.address }))
      return wallet
    })

    const find = Effect.fn("UserWallets.find")((userId: UserId) => repository.find(userId, "user"))

    const findWithBalance = Effect.fn("UserWallets.findWithBalance")(function* (userId: UserId) {
      yield* limiter.take("wallet", userId)
      return yield* Effect.transposeMapOption(yield* find(userId), (wallet) =>
        Effect.map(readBalance(wallet), (balance) => ({ wallet, balance }))
      )
    })

    const require = Effect.fn("UserWallets.require")(function* (userId: UserId) {
      return yield* Effect.mapError(yield* find(userId), () => new UserWalletNotFound())
    })

    /** Returns the wallet if its key can sign. */
    const findUsable = Effect.fn("UserWallets.findUsable")(function* (userId: UserId) {
      const found = yield* find(userId)
      if (Option.isSome(found)) yield* repository.openKey(found.value)
      return found
    })

    /** Stores a user's key or a generated one. Idempotent for the stored key; any other key is rejected. */
    const importKey = Effect.fn("UserWallets.importKey")(function* (
      userId: UserId,
      privateKey: Option.Option<Redacted.Redacted>
    ) {
      const key = yield* Option.match(privateKey, { onNone: () => keys.generate, onSome: keys.parse })
      return yield* repository.insert(userId, "cdp", { ...key, isSupplied: Option.isSome(privateKey) }).pipe(
        Effect.tap(({ address }) => Effect.logInfo("Wallet key stored").pipe(Effect.annotateLogs({ userId, address }))),
        Effect.catchTag("UserWalletExists", (exists) =>
          Effect.flatMap(
            repository.find(userId, "cdp"),
            Option.match({
              onNone: () => exists,
              onSome: (stored) => (stored.address === key.address ? Effect.succeed(stored) : new UserWalletExists())
            })
          )
        )
      )
    })

    return {
      create,
      find,
      findUsable,
      findWithBalance,
      require,
      importKey,
      removeSuppliedSince: repository.removeSuppliedSince
    }
  })
}) {}
