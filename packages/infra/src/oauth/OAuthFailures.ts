import { OAuthResponseRejected, OAuthProviderUnavailable } from "@berth/domain/signin/oauth/OAuthProvider"
import { findRequestFailure } from "./ProviderFetch.ts"

/** Error code of the library (OAUTH_JWT_TIMESTAMP_CHECK_FAILED); unlike the message it quotes nothing. */
const readErrorCode = (error: unknown): string => {
  if (typeof error !== "object" || error === null || !("code" in error)) return "malformed response"
  return typeof error.code === "string" && /^[A-Z_]+$/.test(error.code) ? error.code : "malformed response"
}

/** Before a sign-in starts, every failure makes the provider unavailable. */
export const toProviderUnavailable = (error: unknown): OAuthProviderUnavailable =>
  new OAuthProviderUnavailable({ reason: findRequestFailure(error)?.reason ?? readErrorCode(error) })

/** After the callback, an outage is distinguished from a rejected response. */
export const toOAuthFailure = (error: unknown): OAuthProviderUnavailable | OAuthResponseRejected =>
  findRequestFailure(error) === undefined
    ? new OAuthResponseRejected({ reason: readErrorCode(error) })
    : toProviderUnavailable(error)
