import { WebApi } from "@berth/api/WebApi"
import { CurrentUser } from "@berth/domain/sessions/CurrentUser"
import { DeveloperWalletCreation } from "@berth/domain/wallets/DeveloperWalletCreation"
import { SeedExportDisabled } from "@berth/domain/wallets/UserWallet"
import { UserWallets } from "@berth/domain/wallets/UserWallets"
import { walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import { Effect, Option } from "effect"
import { group } from "../http/ApiGroup.ts"
import { makeWarningHeaders } from "../agents/ModelWarning.ts"
import { RequestCredentials } from "../http/RequestCredentials.ts"
import { addResponseHeaders, addRetryAfter } from "../http/ResponseHeaders.ts"
import * as views from "./WalletViews.ts"

const network = walletNetwork.name

export const layer = group(WebApi, "userWallets", (handlers) =>
  Effect.gen(function* () {
    const credentials = yield* RequestCredentials
    const developer = yield* DeveloperWalletCreation
    const wallets = yield* UserWallets

    const readOwn = Effect.gen(function* () {
      const { user } = yield* credentials.requireSession
      const wallet = yield* Effect.tapError(wallets.findWithBalance(user.id), addRetryAfter)
      if (Option.isNone(wallet)) return views.missingWallet
      const { isCurrent, wei } = wallet.value.balance
      if (!isCurrent) yield* addResponseHeaders(makeWarningHeaders(Option.some(views.describeOutage(wei))))
      return views.describeWallet(wallet.value.wallet, wei)
    })

    return handlers
      .handle("read", () =>
        Option.match(developer.projectId, {
          onNone: () => readOwn,
          onSome: (projectId) => Effect.succeed(views.describePlatform(projectId))
        })
      )
      .handle("act", ({ payload: { action } }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          if (action === "export_seed") return yield* new SeedExportDisabled()
          if (action === "create") {
            const { address } = yield* wallets.create(user.id)
            return { address, network, message: "The wallet was created. Its key is encrypted and never exported." }
          }
          const { address, createdAt } = yield* wallets.require(user.id)
          return { address, network, createdAt, warning: "Private keys and seeds of wallets are never exposed." }
        })
      )
      .handle("address", () =>
        Effect.gen(function* () {
          const caller = yield* credentials.findSession
          if (Option.isNone(caller)) return views.anonymousAddress
          return yield* wallets.findUsable(caller.value.user.id).pipe(
            Effect.map(views.describeAddress),
            Effect.catchTag("WalletKeyUnavailable", () => Effect.succeed(views.unavailableAddress))
          )
        })
      )
      .handle("createDeveloperWallet", ({ payload: { email } }) =>
        Effect.map(developer.create(email), ({ address, walletId }) => ({
          success: true as const,
          walletAddress: address,
          walletId,
          networks: ["base-sepolia", "base"] as const
        }))
      )
      .handle("describeImport", () =>
        Effect.succeed({
          status: "ok" as const,
          type: "evm_wallet" as const,
          supportedChains: ["base", "base-sepolia"] as const
        })
      )
      .handle("importKey", ({ payload: { privateKey } }) =>
        Effect.gen(function* () {
          const { user } = yield* CurrentUser
          const { address } = yield* wallets.importKey(user.id, Option.fromNullable(privateKey))
          return { success: true as const, address, network }
        })
      )
  })
)
