import { AccountPolicy } from "@berth/domain/accounts/AccountPolicy"
import { Layer } from "effect"
import type { Settings } from "../configuration/Settings.ts"

export const fromSettings = ({ addresses, environment, referralCredits }: Settings) =>
  Layer.succeed(AccountPolicy, {
    referralCredits,
    walletEmailDomain: `wallet.${addresses.appUrl.hostname}`,
    socialEmailDomain: `social.${addresses.appUrl.hostname}`,
    appUrl: addresses.appUrl,
    verifiedEmailsOnly: environment === "production"
  })
