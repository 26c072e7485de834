import type { OAuthErrorCode } from "@berth/api/signin/OAuthApi"
import { WebApi } from "@berth/api/WebApi"
import { addressKey } from "@berth/domain/limits/RateLimiter"
import { Caller } from "@berth/domain/sessions/Caller"
import type { OAuthProviderName } from "@berth/domain/signin/OAuthProvider"
import { OAuthSignIn } from "@berth/domain/signin/OAuthSignIn"
import { HttpApiBuilder, type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, Redacted } from "effect"
import { currentClientAddress } from "../http/ClientAddress.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { SessionCookie } from "../sessions/SessionCookie.ts"
import { callbackPath } from "./CallbackUrl.ts"
import { oauthTicketCookie } from "./OAuthTicketCookie.ts"

type Failure = Effect.Effect.Error<ReturnType<OAuthSignIn["finish"] | OAuthSignIn["start"]>>

const codes: Record<Failure["_tag"], OAuthErrorCode> = {
  OAuthIsNotConfigured: "oauth_not_configured",
  OAuthProviderIsUnavailable: "oauth_unavailable",
  OAuthWasDenied: "oauth_denied",
  OAuthStateIsWrong: "oauth_state",
  OAuthAnswerIsRefused: "oauth_failed",
  EmailIsNotVerified: "oauth_email_unverified",
  TooManyRequests: "too_many_requests"
}

/** Whoever keeps an answer would give one browser's sign-in to another. */
const redirect = (location: string) =>
  HttpServerResponse.redirect(location, { status: 302, headers: { "cache-control": "no-store" } })

const noteFailure = (provider: OAuthProviderName) => (failure: Failure) =>
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
const longestCallback = 1024

export const layer = HttpApiBuilder.group(WebApi, "oauth", (handlers) =>
  Effect.gen(function* () {
    const signIn = yield* OAuthSignIn
    const session = yield* SessionCookie
    const settings = yield* WebSettings

    const callbackOf = (request: HttpServerRequest.HttpServerRequest) => {
      const asked = queryOf(request).get("callbackUrl") ?? undefined
      const path = callbackPath(asked, settings.appUrl)
      return path.length <= longestCallback ? path : callbackPath(undefined, settings.appUrl)
    }

    const start = (provider: OAuthProviderName) => {
      const cookie = oauthTicketCookie(provider, settings.appUrl)
      return ({ request }: { readonly request: HttpServerRequest.HttpServerRequest }) =>
        signIn.start(provider, callbackOf(request)).pipe(
          Effect.tapError(noteFailure(provider)),
          Effect.match({
            onFailure: (failure) => redirect(`/login?error=${codes[failure._tag]}`),
            onSuccess: ({ ticket, url }) => cookie.set(redirect(url.href), ticket)
          })
        )
    }

    const finish = (provider: OAuthProviderName) => {
      const cookie = oauthTicketCookie(provider, settings.appUrl)
      return ({ request }: { readonly request: HttpServerRequest.HttpServerRequest }) =>
        Effect.gen(function* () {
          const { callbackUrl, token, user } = yield* signIn.finish({
            provider,
            query: Redacted.make(queryOf(request)),
            ticket: cookie.read(request),
            from: addressKey(yield* Effect.provideService(currentClientAddress, WebSettings, settings)),
            current: session.read(request)
          })
          yield* (yield* Caller).identify(user.id)
          return cookie.clear(session.set(redirect(callbackPath(callbackUrl, settings.appUrl)), token))
        }).pipe(
          Effect.tapError(noteFailure(provider)),
          Effect.catchAll((failure) => {
            const response = redirect(`/login?error=${codes[failure._tag]}`)
            // A link that somebody else made must not end the sign-in that this browser is in the middle of.
            return Effect.succeed(failure._tag === "OAuthStateIsWrong" ? response : cookie.clear(response))
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
