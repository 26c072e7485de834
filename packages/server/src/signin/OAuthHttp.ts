import type { OAuthErrorCode } from "@berth/api/signin/oauth/OAuthApi"
import { WebApi } from "@berth/api/WebApi"
import { normalizeClientAddress } from "@berth/domain/limits/RateLimiter"
import { Caller } from "@berth/domain/sessions/Caller"
import type { OAuthProviderName } from "@berth/domain/signin/oauth/OAuthProvider"
import { OAuthSignIn } from "@berth/domain/signin/oauth/OAuthSignIn"
import { HttpApiBuilder, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Redacted } from "effect"
import { currentClientAddress } from "../http/ClientAddress.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { SessionCookie } from "../sessions/SessionCookie.ts"
import { resolveCallbackPath } from "./CallbackPath.ts"
import { makeOAuthTicketCookie } from "./OAuthTicketCookie.ts"

type Failure = Effect.Effect.Error<ReturnType<OAuthSignIn["finish"] | OAuthSignIn["start"]>>

const codes: Record<Failure["_tag"], OAuthErrorCode> = {
  OAuthNotConfigured: "oauth_not_configured",
  OAuthProviderUnavailable: "oauth_unavailable",
  OAuthAccessDenied: "oauth_denied",
  OAuthStateInvalid: "oauth_state",
  OAuthResponseRejected: "oauth_failed",
  ProviderEmailUnverified: "oauth_email_unverified",
  RateLimitExceeded: "rate_limit_exceeded"
}

/** Whoever keeps an answer would give one browser's sign-in to another. */
const redirectPrivately = (location: string) =>
  HttpServerResponse.redirect(location, { status: 302, headers: { "cache-control": "no-store" } })

const logFailure = (provider: OAuthProviderName) => (failure: Failure) =>
  Effect.logInfo("A sign-in at a provider came to nothing").pipe(
    Effect.annotateLogs({
      provider,
      error: codes[failure._tag],
      ...("reason" in failure ? { reason: failure.reason } : {})
    })
  )

/** The query of a request as it came. */
const queryOf = ({ url }: HttpServerRequest.HttpServerRequest) => new URL(url, "http://localhost").searchParams

/** A longer one does not fit into a cookie together with the rest. */
const maximumCallbackLength = 1024

export const layer = HttpApiBuilder.group(WebApi, "oauth", (handlers) =>
  Effect.gen(function* () {
    const signIn = yield* OAuthSignIn
    const session = yield* SessionCookie
    const settings = yield* WebSettings

    const callbackOf = (request: HttpServerRequest.HttpServerRequest) => {
      const asked = queryOf(request).get("callbackUrl") ?? undefined
      const path = resolveCallbackPath(asked, settings.appUrl)
      return path.length <= maximumCallbackLength ? path : resolveCallbackPath(undefined, settings.appUrl)
    }

    const start = (provider: OAuthProviderName) => {
      const cookie = makeOAuthTicketCookie(provider, settings.appUrl)
      return ({ request }: { readonly request: HttpServerRequest.HttpServerRequest }) =>
        signIn.start(provider, callbackOf(request)).pipe(
          Effect.tapError(logFailure(provider)),
          Effect.match({
            onFailure: (failure) => redirectPrivately(`/login?error=${codes[failure._tag]}`),
            onSuccess: ({ ticket, url }) => cookie.set(redirectPrivately(url.href), ticket)
          })
        )
    }

    const finish = (provider: OAuthProviderName) => {
      const cookie = makeOAuthTicketCookie(provider, settings.appUrl)
      return ({ request }: { readonly request: HttpServerRequest.HttpServerRequest }) =>
        Effect.gen(function* () {
          const { callbackUrl, token, user } = yield* signIn.finish({
            provider,
            query: Redacted.make(queryOf(request)),
            ticket: cookie.read(request),
            from: normalizeClientAddress(yield* Effect.provideService(currentClientAddress, WebSettings, settings)),
            current: session.read(request)
          })
          yield* (yield* Caller).identify(user.id)
          return cookie.clear(session.set(redirectPrivately(resolveCallbackPath(callbackUrl, settings.appUrl)), token))
        }).pipe(
          Effect.tapError(logFailure(provider)),
          Effect.catchAll((failure) => {
            const response = redirectPrivately(`/login?error=${codes[failure._tag]}`)
            // A link that somebody else made must not end the sign-in that this browser is in the middle of.
            return Effect.succeed(failure._tag === "OAuthStateInvalid" ? response : cookie.clear(response))
          })
        )
    }

    return handlers
      .handle("oauthA", start("oauthA"))
      .handle("oauthABack", finish("oauthA"))
      .handle("oauthB", start("oauthB"))
      .handle("oauthBBack", finish("oauthB"))
  })
)
