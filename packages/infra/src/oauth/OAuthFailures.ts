import { OAuthResponseRejected, OAuthProviderUnavailable } from "@berth/domain/signin/oauth/OAuthProvider"
import { findRequestFailure } from "./ProviderFetch.ts"

/** The library's code of an error (OAUTH_JWT_TIMESTAMP_CHECK_FAILED), which unlike its message quotes nothing. */
const codeOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null || !("code" in error)) return "it is not what it should be"
  return typeof error.code === "string" && /^[A-Z_]+$/.test(error.code) ? error.code : "it is not what it should be"
}

/** Of a provider that has to answer before anything can begin: whatever is wrong, it cannot be used. */
export const toProviderUnavailable = (error: unknown): OAuthProviderUnavailable =>
  new OAuthProviderUnavailable({ reason: findRequestFailure(error)?.reason ?? codeOf(error) })

/** Of what a provider made of a browser that came back: no answer is not a bad answer. */
export const toOAuthFailure = (error: unknown): OAuthProviderUnavailable | OAuthResponseRejected =>
  findRequestFailure(error) === undefined
    ? new OAuthResponseRejected({ reason: codeOf(error) })
    : toProviderUnavailable(error)
