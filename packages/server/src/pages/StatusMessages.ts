import type { CheckoutErrorCode } from "@berth/domain/billing/checkout/CheckoutLinks"
import type { OAuthErrorCode } from "@berth/api/signin/oauth/OAuthApi"

const providerErrors: Readonly<Record<OAuthErrorCode, string>> = {
  oauth_not_configured: "Sign-in with this provider is not configured.",
  oauth_unavailable: "The provider does not respond. Try again in a minute.",
  oauth_denied: "You declined the sign-in at the provider.",
  oauth_state: "This sign-in was started in another browser or has expired. Start again.",
  oauth_failed: "The provider rejected the sign-in. Try again.",
  oauth_email_unverified: "The provider has no confirmed email address for you. Confirm one there, then try again.",
  oauth_subject_conflict:
    "Your email address belongs to an account with another identity at this provider. Sign in with that one.",
  account_suspended: "This account is suspended. Contact the operator of this service.",
  rate_limit_exceeded: "Too many attempts. Try again later."
}

/** Messages by the code of the `error` parameter. */
const signIn: Readonly<Record<string, string>> = {
  ...providerErrors,
  credentials_invalid: "Email or password is incorrect.",
  wallet_sign_in_rejected: "The wallet's signature was rejected. Try again.",
  chain_unreachable: "The signature cannot be checked now: the chain does not respond. Try again in a minute.",
  origin_not_allowed: "The form was submitted from another site. Use the form on this page.",
  another_account: "This link is for another account. Sign out, sign in to that one, and open it again.",
  invalid_link: "This link has expired or was used. Request a new one.",
  invalid_request: "Fill in every field.",
  unauthorized: "Your session has ended. Sign in again.",
  unavailable: "The service is unavailable. Try again in a minute."
}

const checkoutErrors: Readonly<Record<CheckoutErrorCode, string>> = {
  unknown_plan: "This plan does not exist.",
  unknown_price: "This credit pack does not exist.",
  not_configured: "Card payments are not configured on this server.",
  unavailable: "The card processor does not respond; nothing was charged. Try again in a minute.",
  other_currency: "You have a plan in another currency. Cancel it first.",
  canceled: "The checkout was canceled; nothing was charged."
}

const makeMessageLookup = (known: Readonly<Record<string, string>>, general: string) => (code: string | null) => {
  if (code === null || code === "") return undefined
  return Object.hasOwn(known, code) ? known[code] : general
}

/** Returns the message of a sign-in error; a general one for an unknown code. */
export const findSignInError = makeMessageLookup(signIn, "Sign-in failed. Try again.")

export const findCheckoutError = makeMessageLookup(checkoutErrors, "The checkout failed; nothing was charged.")

/** Messages by the code of the `notice` parameter. */
const notices: Readonly<Record<string, string>> = {
  credits_purchased: "Thank you. The credits will be on your account in a moment.",
  email_change_undone: "Your previous email address is restored, and every session has ended. Sign in.",
  email_verified: "Your email address is confirmed.",
  reset_requested: "If there is an account with this email address, we sent it a link for a new password.",
  sign_in_to_confirm: "Sign in to confirm your email address.",
  password_reset: "Your password is changed. Sign in with the new one."
}

/** Returns the message of a notice; none for an unknown code. */
export const findNotice = (code: string | null): string | undefined =>
  code !== null && Object.hasOwn(notices, code) ? notices[code] : undefined
