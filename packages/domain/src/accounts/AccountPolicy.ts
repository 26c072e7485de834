import { Context, Either, Option } from "effect"
import { type Email, isInDomain, parseEmail } from "../shared/Email.ts"
import type { Credits } from "../shared/Money.ts"
import { EmailInvalid } from "./AccountErrors.ts"

export class AccountPolicy extends Context.Tag("@berth/AccountPolicy")<
  AccountPolicy,
  {
    /** Credits that a valid referral gives to both sides. */
    readonly referralCredits: Credits
    /** Domain of wallet-derived addresses; password registration rejects it. */
    readonly walletEmailDomain: string
    /** Domain of addresses derived from social identities; password registration rejects it. */
    readonly socialEmailDomain: string
    /** Domain of the addresses of anonymous owners; password registration rejects it. */
    readonly unclaimedEmailDomain: string
    /** Base of the links in mails: `APP_URL`. */
    readonly appUrl: URL
    /** True in production: rights that depend on an email address require a verified one. */
    readonly verifiedEmailsOnly: boolean
  }
>() {}

type SyntheticDomains = Pick<AccountPolicy["Type"], "walletEmailDomain" | "socialEmailDomain" | "unclaimedEmailDomain">

/** Whether Berth generated the address; it receives no mail. */
export const isSyntheticEmail = (email: Email, policy: SyntheticDomains): boolean =>
  [policy.walletEmailDomain, policy.socialEmailDomain, policy.unclaimedEmailDomain].some((domain) =>
    isInDomain(email, domain)
  )

/** Parses an address that a person may give to an account. */
export const parseAccountEmail = (text: string, policy: SyntheticDomains): Either.Either<Email, EmailInvalid> =>
  Either.fromOption(
    Option.filter(parseEmail(text), (email) => !isSyntheticEmail(email, policy)),
    () => new EmailInvalid()
  )
