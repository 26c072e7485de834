import { DateTime, Effect, Option } from "effect"
import { shortenWalletAddress, type WalletAddress } from "../../chain/WalletAddress.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { LinkedIdentities } from "../identities/LinkedIdentities.ts"
import { AccessNotices } from "../../accounts/access-notices/AccessNotices.ts"
import { AccountPolicy } from "../../accounts/AccountPolicy.ts"
import { PasswordCredentials } from "../../accounts/password/PasswordCredentials.ts"
import { ExternalAccounts } from "../../accounts/registration/ExternalAccounts.ts"
import { Users } from "../../accounts/Users.ts"
import { makeWalletEmail, maximumWalletsPerUser, type Wallet } from "./Wallet.ts"
import { WalletAlreadyLinked, WalletLimitReached } from "./WalletErrors.ts"
import { WalletRepository } from "./WalletRepository.ts"
import type { UserId } from "../../shared/UserId.ts"
import { validateWalletUnlinking } from "./WalletUnlinking.ts"

/** Wallets linked to accounts. Proofs are not checked here: callers pass proven addresses. */
export class Wallets extends Effect.Service<Wallets>()("@berth/Wallets", {
  effect: Effect.gen(function* () {
    const repository = yield* WalletRepository
    const users = yield* Users
    const accounts = yield* ExternalAccounts
    const credentials = yield* PasswordCredentials
    const identities = yield* LinkedIdentities
    const notices = yield* AccessNotices
    const transaction = yield* Transaction
    const policy = yield* AccountPolicy

    /** Returns the account with the email derived from the wallet, linked or not. */
    const findByEmail = (address: WalletAddress) =>
      users.findByEmail(makeWalletEmail(address, policy.walletEmailDomain))

    const create = Effect.fnUntraced(function* (address: WalletAddress) {
      // The caller holds the address lock and found no account; other registrations reject this email domain.
      const user = yield* Effect.orDie(
        accounts.create({
          email: makeWalletEmail(address, policy.walletEmailDomain),
          name: Option.some(shortenWalletAddress(address))
        })
      )
      yield* Effect.logInfo("User created by wallet").pipe(Effect.annotateLogs("userId", user.id))
      return user
    })

    const insert = Effect.fnUntraced(function* (userId: UserId, address: WalletAddress) {
      const wallet: Wallet = { address, userId, linkedAt: yield* DateTime.now }
      yield* repository.insert(wallet)
      return wallet
    })

    /**
     * Returns the wallet's owner. An unlinked wallet is linked to the account with its derived email, which is created
     * after `admission` if absent.
     */
    const findOrCreateOwner = Effect.fn("Wallets.findOrCreateOwner")(function* <E>(
      address: WalletAddress,
      admission: Effect.Effect<void, E>
    ) {
      return yield* transaction.run(
        Effect.gen(function* () {
          yield* repository.lockAddress(address)
          const linked = yield* repository.find(address)
          if (Option.isSome(linked)) return yield* Effect.orDie(users.find(linked.value.userId))
          const user = yield* Effect.flatMap(
            findByEmail(address),
            Option.match({ onNone: () => Effect.zipRight(admission, create(address)), onSome: Effect.succeed })
          )
          yield* insert(user.id, address)
          return user
        })
      )
    })

    /** Idempotent. */
    const link = Effect.fn("Wallets.link")(function* (userId: UserId, address: WalletAddress) {
      yield* repository.lockAddress(address)
      const linked = yield* repository.find(address)
      if (Option.isSome(linked)) return linked.value.userId === userId ? linked.value : yield* new WalletAlreadyLinked()
      if (Option.exists(yield* findByEmail(address), ({ id }) => id !== userId)) return yield* new WalletAlreadyLinked()
      yield* repository.lockOwner(userId)
      if ((yield* repository.listByUser(userId)).length >= maximumWalletsPerUser) return yield* new WalletLimitReached()
      yield* Effect.logInfo("Wallet linked").pipe(Effect.annotateLogs("userId", userId))
      yield* notices.announce(userId, `The wallet ${address} was linked.`)
      return yield* insert(userId, address)
    }, transaction.run)

    const unlink = Effect.fn("Wallets.unlink")(function* (userId: UserId, address: WalletAddress) {
      yield* transaction.run(
        Effect.gen(function* () {
          yield* repository.lockAddress(address)
          // Concurrent calls must not remove the last two access methods.
          yield* repository.lockOwner(userId)
          const { email } = yield* users.find(userId)
          yield* validateWalletUnlinking({
            address,
            email,
            wallets: yield* repository.listByUser(userId),
            hasOtherAccessMethod: (yield* credentials.exists(userId)) || (yield* identities.hasAny(userId)),
            walletEmailDomain: policy.walletEmailDomain
          })
          yield* repository.remove(address)
        })
      )
      yield* Effect.logInfo("Wallet unlinked").pipe(Effect.annotateLogs("userId", userId))
    })

    /**
     * Unlinks wallets linked at `since` or later, including the last access method. Waits for sign-ins in progress with
     * the user's wallets.
     */
    const unlinkAll = Effect.fn("Wallets.unlinkAll")(function* (userId: UserId, since: DateTime.Utc) {
      const wallets = yield* repository.listByUser(userId)
      yield* Effect.forEach(wallets, ({ address }) => repository.lockAddress(address), { discard: true })
      yield* repository.removeByUser(userId, since)
    })

    return { findOrCreateOwner, listByUser: repository.listByUser, link, unlink, unlinkAll }
  })
}) {}
