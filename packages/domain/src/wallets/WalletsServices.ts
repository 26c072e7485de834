import { Layer } from "effect"
import { DeveloperWalletCreation } from "./DeveloperWalletCreation.ts"
import { UserWallets } from "./UserWallets.ts"

export const layer = Layer.merge(UserWallets.Default, DeveloperWalletCreation.Default)
