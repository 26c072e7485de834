import type { OAuthErrorCode } from "@berth/api/signin/oauth/OAuthApi"
import { WebApi } from "@berth/api/WebApi"
import { Caller } from "@berth/domain/sessions/Caller"
import type { OAuthProviderName } from "@berth/domain/signin/oauth/OAuthProvider"
import { OAuthSignIn } from "@berth/domain/signin/oauth/OAuthSignIn"
import { type HttpServerRequest } from "@effect/platform"
import { Effect, Redacted } from "effect"
import { group } from "../http/ApiGroup.ts"
import { redirectPrivately } from "../http/ResponseHeaders.ts"
import { makeOAuthTicketCookie, SessionCookie } from "../http/SecretCookies.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { currentAddressKey } from "../http/RateLimitsHttp.ts"
import { readQuery, resolveCallbackPath } from "./CallbackPath.ts"

type Failure = Effect.Effect.Error<ReturnType<OAuthSignIn["finish"] | OAuthSignIn["start"]>>

const codes: Record<Failure["_tag"], OAuthErrorCode> = {
  OAuthNotConfigured: "oauth_not_configured",
  OAuthProviderUnavailable: "oauth_unavailable",
  OAuthAccessDenied: "oauth_denied",
  OAuthStateInvalid: "oauth_state",
  OAuthResponseRejected: "oauth_failed",
  ProviderEmailUnverified: "oauth_email_unverified",
  OAuthSubjectConflict: "oauth_subject_conflict",
  AccountSuspended: "account_suspended",
  RateLimitExceeded: "rate_limit_exceeded"
}

const logFailure = (provider: OAuthProviderName) => (failure: Failure) =>
  Effect.logInfo("OAuth sign-in failed").pipe(
    Effect.annotateLogs({
      provider,
      error: codes[failure._tag],
      ...("reason" in failure ? { reason: failure.reason } : {})
    })
  )

/** The sealed ticket contains the path and must fit into a cookie of 4 KiB. */
const maximumCallbackLength = 1024

export const layer = group(WebApi, "oauth", (handlers) =>
  Effect.gen(function* () {
    const signIn = yield* OAuthSignIn
    const session = yield* SessionCookie
    const { appUrl } = yield* WebSettings

    const readCallbackPath = (request: HttpServerRequest.HttpServerRequest) => {
      const requested = readQuery(request).get("callbackUrl") ?? undefined
      const path = resolveCallbackPath(requested, appUrl)
      return path.length <= maximumCallbackLength ? path : resolveCallbackPath(undefined, appUrl)
    }

    const start = (provider: OAuthProviderName) => {
      const cookie = makeOAuthTicketCookie(provider, appUrl)
      return ({ request }: { readonly request: HttpServerRequest.HttpServerRequest }) =>
        signIn.start(provider, readCallbackPath(request)).pipe(
          Effect.tapError(logFailure(provider)),
          Effect.match({
            onFailure: (failure) => redirectPrivately(`/login?error=${codes[failure._tag]}`),
            onSuccess: ({ ticket, url }) => cookie.set(redirectPrivately(url.href), ticket)
          })
        )
    }

    const finish = (provider: OAuthProviderName) => {
      const cookie = makeOAuthTicketCookie(provider, appUrl)
      return ({ request }: { readonly request: HttpServerRequest.HttpServerRequest }) =>
        Effect.gen(function* () {
          const { callbackUrl, token, user } = yield* signIn.finish({
            provider,
            query: Redacted.make(readQuery(request)),
            ticket: cookie.read(request),
            from: yield* currentAddressKey,
            current: session.read(request)
          })
          yield* (yield* Caller).identify(user.id)
          return cookie.clear(session.set(redirectPrivately(resolveCallbackPath(callbackUrl, appUrl)), token))
        }).pipe(
          Effect.tapError(logFailure(provider)),
          Effect.catchAll((failure) => {
            const response = redirectPrivately(`/login?error=${codes[failure._tag]}`)
            // A forged callback link does not end the pending sign-in of this browser.
            return Effect.succeed(failure._tag === "OAuthStateInvalid" ? response : cookie.clear(response))
          })
        )
    }

    return handlers
      .handle("oauthA", start("oauthA"))
      .handle("oauthACallback", finish("oauthA"))
      .handle("oauthB", start("oauthB"))
      .handle("oauthBCallback", finish("oauthB"))
  })
)
