import { type Email, isInDomain } from "../shared/Email.ts"
import { Context } from "effect"

/** What the operator sets about accounts. */
export class AccountPolicy extends Context.Tag("@berth/AccountPolicy")<
  AccountPolicy,
  {
    /** Credits that a valid referral gives to both sides. */
    readonly referralCredits: number
    /** The domain of wallet-derived addresses; nobody registers there by password. */
    readonly walletEmailDomain: string
    /** The domain of the addresses of who comes by social identity; nobody registers there either. */
    readonly socialEmailDomain: string
    /** Where the links in mails lead: `APP_URL`. */
    readonly appUrl: URL
    /** In production rights that hang on an e-mail need one that was confirmed. */
    readonly verifiedEmailsOnly: boolean
  }
>() {}

/** Whether an address is one that we made for an account that came without: no mail arrives there, and nobody registers with it. */
export const isSyntheticEmail = (
  email: Email,
  rules: Pick<AccountPolicy["Type"], "walletEmailDomain" | "socialEmailDomain">
): boolean => isInDomain(email, rules.walletEmailDomain) || isInDomain(email, rules.socialEmailDomain)
