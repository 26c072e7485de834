import { Context } from "effect"

/** What the operator sets about accounts. */
export class AccountRules extends Context.Tag("@berth/AccountRules")<
  AccountRules,
  {
    /** Credits that a valid referral gives to both sides. */
    readonly referralCredits: number
    /** The domain of wallet-derived addresses; nobody registers there by password. */
    readonly walletEmailDomain: string
    /** The domain of the addresses of who comes by social identity; nobody registers there either. */
    readonly socialEmailDomain: string
  }
>() {}
