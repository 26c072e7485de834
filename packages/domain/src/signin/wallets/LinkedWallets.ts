import { Effect } from "effect"
import type { UserId } from "../../shared/UserId.ts"
import { WalletRepository } from "./WalletRepository.ts"

/** Read access to users' wallets for other contexts. */
export class LinkedWallets extends Effect.Service<LinkedWallets>()("@berth/LinkedWallets", {
  effect: Effect.gen(function* () {
    const wallets = yield* WalletRepository

    const listAddresses = Effect.fn("LinkedWallets.listAddresses")(function* (userId: UserId) {
      return (yield* wallets.listByUser(userId)).map(({ address }) => address)
    })

    return { listAddresses }
  })
}) {}
