import { Layer } from "effect"
import { DeveloperWalletCreation } from "./DeveloperWalletCreation.ts"
import { PaymentDispatch } from "./payments/PaymentDispatch.ts"
import { WalletCalls } from "./payments/WalletCalls.ts"
import { WalletPayments } from "./payments/WalletPayments.ts"
import { UserWallets } from "./UserWallets.ts"

/** Services for the public listener. */
export const layer = Layer.mergeAll(
  UserWallets.Default,
  DeveloperWalletCreation.Default,
  WalletPayments.Default,
  PaymentDispatch.Default
)

/** Wallet calls of agents, for the routes of runtimes. */
export const calls = WalletCalls.Default.pipe(
  Layer.provide(Layer.mergeAll(UserWallets.Default, WalletPayments.Default, PaymentDispatch.Default))
)
