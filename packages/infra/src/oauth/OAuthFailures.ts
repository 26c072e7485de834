import { OAuthResponseRejected, OAuthProviderUnavailable } from "@berth/domain/signin/oauth/OAuthProvider"
import { findRequestFailure } from "./ProviderFetch.ts"

/** Returns the library's error code (OAUTH_JWT_TIMESTAMP_CHECK_FAILED), which unlike the message quotes nothing. */
const readErrorCode = (error: unknown): string => {
  if (typeof error !== "object" || error === null || !("code" in error)) return "malformed response"
  return typeof error.code === "string" && /^[A-Z_]+$/.test(error.code) ? error.code : "malformed response"
}

/** Before a sign-in starts, every failure means an unavailable provider. */
export const toProviderUnavailable = (error: unknown): OAuthProviderUnavailable =>
  new OAuthProviderUnavailable({ reason: findRequestFailure(error)?.reason ?? readErrorCode(error) })

/** After the callback, distinguishes an outage from a rejected response. */
export const toOAuthFailure = (error: unknown): OAuthProviderUnavailable | OAuthResponseRejected =>
  findRequestFailure(error) === undefined
    ? new OAuthResponseRejected({ reason: readErrorCode(error) })
    : toProviderUnavailable(error)
