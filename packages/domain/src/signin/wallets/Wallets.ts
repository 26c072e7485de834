import { DateTime, Effect, Option } from "effect"
import { shortenWalletAddress, type WalletAddress } from "../../chain/WalletAddress.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { LinkedIdentities } from "../identities/LinkedIdentities.ts"
import { AccountPolicy } from "../../accounts/AccountPolicy.ts"
import { validateWalletUnlinking } from "./WalletUnlinking.ts"
import { PasswordCredentials } from "../../accounts/password/PasswordCredentials.ts"
import { ExternalAccounts } from "../../accounts/registration/ExternalAccounts.ts"
import { Users } from "../../accounts/Users.ts"
import { makeWalletEmail, maximumWalletsPerUser, type Wallet } from "./Wallet.ts"
import { WalletLimitReached, WalletAlreadyLinked } from "./WalletErrors.ts"
import { WalletRepository } from "./WalletRepository.ts"
import type { UserId } from "../../shared/UserId.ts"

/** The wallets that lead into accounts. Who asks has proved the wallet before. */
export class Wallets extends Effect.Service<Wallets>()("@berth/Wallets", {
  effect: Effect.gen(function* () {
    const repository = yield* WalletRepository
    const users = yield* Users
    const accounts = yield* ExternalAccounts
    const credentials = yield* PasswordCredentials
    const identities = yield* LinkedIdentities
    const transaction = yield* Transaction
    const rules = yield* AccountPolicy

    /** The account that the wallet's derived address names, whether or not the wallet is linked to it. */
    const findByEmail = (address: WalletAddress) => users.findByEmail(makeWalletEmail(address, rules.walletEmailDomain))

    const create = Effect.fnUntraced(function* (address: WalletAddress) {
      // The caller holds the address lock and found no account; other sign-ups reject this email domain.
      const user = yield* Effect.orDie(
        accounts.create({
          email: makeWalletEmail(address, rules.walletEmailDomain),
          name: Option.some(shortenWalletAddress(address))
        })
      )
      yield* Effect.logInfo("A user came by wallet").pipe(Effect.annotateLogs("userId", user.id))
      return user
    })

    const insert = Effect.fnUntraced(function* (userId: UserId, address: WalletAddress) {
      const wallet: Wallet = { address, userId, linkedAt: yield* DateTime.now }
      yield* repository.insert(wallet)
      return wallet
    })

    /** Whose the wallet is; the account is made, or the one with the wallet's address linked, when it is nobody's. */
    const findOrCreateOwner = Effect.fn("Wallets.findOrCreateOwner")(function* (address: WalletAddress) {
      return yield* transaction.run(
        Effect.gen(function* () {
          yield* repository.lockAddress(address)
          const linked = yield* repository.find(address)
          if (Option.isSome(linked)) return yield* Effect.orDie(users.find(linked.value.userId))
          const user = yield* Effect.flatMap(
            findByEmail(address),
            Option.match({ onNone: () => create(address), onSome: Effect.succeed })
          )
          yield* insert(user.id, address)
          return user
        })
      )
    })

    /** Links a wallet that is nobody's, or is the user's already. */
    const link = Effect.fn("Wallets.link")(function* (userId: UserId, address: WalletAddress) {
      return yield* transaction.run(
        Effect.gen(function* () {
          yield* repository.lockAddress(address)
          const linked = yield* repository.find(address)
          if (Option.isSome(linked))
            return linked.value.userId === userId ? linked.value : yield* new WalletAlreadyLinked()
          if (Option.exists(yield* findByEmail(address), ({ id }) => id !== userId))
            return yield* new WalletAlreadyLinked()
          yield* repository.lockOwner(userId)
          if ((yield* repository.listByUser(userId)).length >= maximumWalletsPerUser)
            return yield* new WalletLimitReached()
          yield* Effect.logInfo("A wallet was linked").pipe(Effect.annotateLogs("userId", userId))
          return yield* insert(userId, address)
        })
      )
    })

    const unlink = Effect.fn("Wallets.unlink")(function* (userId: UserId, address: WalletAddress) {
      yield* transaction.run(
        Effect.gen(function* () {
          yield* repository.lockAddress(address)
          // Two unlinkings at once must not take the last two ways in.
          yield* repository.lockOwner(userId)
          const { email } = yield* users.find(userId)
          yield* validateWalletUnlinking({
            address,
            email,
            wallets: yield* repository.listByUser(userId),
            hasOtherAccessMethod: (yield* credentials.exists(userId)) || (yield* identities.hasAny(userId)),
            walletEmailDomain: rules.walletEmailDomain
          })
          yield* repository.remove(address)
        })
      )
      yield* Effect.logInfo("A wallet was unlinked").pipe(Effect.annotateLogs("userId", userId))
    })

    /** Takes every wallet from an account, whatever else leads into it, once whoever is just coming by one is in. */
    const unlinkAll = Effect.fn("Wallets.unlinkAll")(function* (userId: UserId) {
      const wallets = yield* repository.listByUser(userId)
      yield* Effect.forEach(wallets, ({ address }) => repository.lockAddress(address), { discard: true })
      yield* repository.removeByUser(userId)
    })

    return { findOrCreateOwner, listByUser: repository.listByUser, link, unlink, unlinkAll }
  })
}) {}
