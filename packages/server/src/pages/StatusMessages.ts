import type { CheckoutErrorCode } from "@berth/domain/billing/checkout/CheckoutLinks"
import type { OAuthErrorCode } from "@berth/api/signin/oauth/OAuthApi"

const providerErrors: Readonly<Record<OAuthErrorCode, string>> = {
  oauth_not_configured: "Sign-in through this provider is not set up here.",
  oauth_unavailable: "The provider does not answer at the moment. Try again in a minute.",
  oauth_denied: "You declined at the provider, so nothing was signed in.",
  oauth_state: "This sign-in was begun in another browser or too long ago. Start again.",
  oauth_failed: "The provider did not confirm who you are. Try again.",
  oauth_email_unverified:
    "The provider does not vouch for an e-mail address of yours, and an account needs one. Confirm it there first.",
  oauth_subject_conflict:
    "Your email address belongs to an account of another identity at this provider. Sign in with that one.",
  rate_limit_exceeded: "Too many attempts. Wait a while, then try again."
}

/** Messages by the code of the `error` parameter. */
const signIn: Readonly<Record<string, string>> = {
  ...providerErrors,
  credentials_invalid: "E-mail or password is wrong.",
  wallet_sign_in_rejected: "The wallet's signature was not accepted. Try again.",
  chain_unreachable: "The signature cannot be checked at the moment, because the chain does not answer.",
  origin_not_allowed: "The form came from another site. Use the one on this page.",
  another_account: "This link is for another account. Sign out, sign in to that one, and open it again.",
  invalid_link: "This link is not valid any more. Ask for a new one.",
  invalid_request: "Something is missing. Fill in every field.",
  unauthorized: "Your session has ended. Sign in again.",
  unavailable: "The service is not available at the moment. Try again in a minute."
}

const checkoutErrors: Readonly<Record<CheckoutErrorCode, string>> = {
  unknown_plan: "There is no such plan.",
  unknown_price: "There is no such credit pack.",
  not_configured: "Payment is not set up here.",
  unavailable: "The card processor does not answer at the moment; nothing was charged. Try again in a minute.",
  other_currency: "You subscribe to a plan in another currency. End it first, then choose this one.",
  canceled: "The checkout was canceled; nothing was charged."
}

const makeMessageLookup = (known: Readonly<Record<string, string>>, general: string) => (code: string | null) => {
  if (code === null || code === "") return undefined
  return Object.hasOwn(known, code) ? known[code] : general
}

/** The message of a sign-in error; a general one for an unknown code. */
export const findSignInError = makeMessageLookup(signIn, "That did not work. Try again.")

/** The message of a checkout error. */
export const findCheckoutError = makeMessageLookup(checkoutErrors, "The checkout did not work; nothing was charged.")

/** Messages by the code of the `notice` parameter. */
const notices: Readonly<Record<string, string>> = {
  credits_purchased: "Thank you. The credits are on your account in a moment.",
  email_change_undone: "Your previous e-mail address is set again, and every session has ended. Sign in.",
  email_verified: "Your e-mail address is confirmed.",
  sign_in_to_confirm: "Sign in to confirm your e-mail address.",
  password_reset: "Your password is changed. Sign in with the new one."
}

/** The message of a notice; none for an unknown code. */
export const findNotice = (code: string | null): string | undefined =>
  code !== null && Object.hasOwn(notices, code) ? notices[code] : undefined
