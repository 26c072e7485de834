import { AccountRules } from "@berth/domain/accounts/AccountRules"
import { Layer } from "effect"
import type { Settings } from "../configuration/Settings.ts"

/** What the operator has set about accounts. */
export const fromSettings = ({ addresses, environment, referralCredits }: Settings) =>
  Layer.succeed(AccountRules, {
    referralCredits,
    walletEmailDomain: `wallet.${addresses.appUrl.hostname}`,
    appUrl: addresses.appUrl,
    verifiedEmailsOnly: environment === "production"
  })
