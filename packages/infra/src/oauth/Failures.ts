import { OAuthAnswerIsRefused, OAuthProviderIsUnavailable } from "@berth/domain/signin/OAuthProvider"
import { troubleOf } from "./ProviderFetch.ts"

/** The library's code of an error (OAUTH_JWT_TIMESTAMP_CHECK_FAILED), which unlike its message quotes nothing. */
const codeOf = (error: unknown): string => {
  if (typeof error !== "object" || error === null || !("code" in error)) return "it is not what it should be"
  return typeof error.code === "string" && /^[A-Z_]+$/.test(error.code) ? error.code : "it is not what it should be"
}

/** Of a provider that has to answer before anything can begin: whatever is wrong, it cannot be used. */
export const unavailable = (error: unknown): OAuthProviderIsUnavailable =>
  new OAuthProviderIsUnavailable({ reason: troubleOf(error)?.reason ?? codeOf(error) })

/** Of what a provider made of a browser that came back: no answer is not a bad answer. */
export const failureOf = (error: unknown): OAuthProviderIsUnavailable | OAuthAnswerIsRefused =>
  troubleOf(error) === undefined ? new OAuthAnswerIsRefused({ reason: codeOf(error) }) : unavailable(error)
