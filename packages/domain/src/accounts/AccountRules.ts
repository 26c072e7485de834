import { Context } from "effect"

/** What the operator sets about accounts. */
export class AccountRules extends Context.Tag("@berth/AccountRules")<
  AccountRules,
  {
    /** Credits that a valid referral gives to both sides. */
    readonly referralCredits: number
    /** The domain of wallet-derived addresses; nobody registers there by password. */
    readonly walletEmailDomain: string
    /** Where the links in mails lead: `APP_URL`. */
    readonly appUrl: URL
    /** In production rights that hang on an e-mail need one that was confirmed. */
    readonly verifiedEmailsOnly: boolean
  }
>() {}
