import { ScopeMissingBody } from "@berth/api/sessions/RequiredScope"
import { AuthenticationRequiredBody } from "@berth/api/sessions/SessionAuth"
import { CurrentSession, SignedIn } from "@berth/api/signin/SignInApi"
import { WebApi } from "@berth/api/WebApi"
import { Caller } from "@berth/domain/sessions/Caller"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { PasswordSignIn } from "@berth/domain/signin/password/PasswordSignIn"
import { SocialSessions } from "@berth/domain/signin/social/SocialSessions"
import { HttpServerResponse } from "@effect/platform"
import { Effect, Option, Schema } from "effect"
import { group } from "../http/ApiGroup.ts"
import type { RequestHandler } from "../http/DirectRoutes.ts"
import { makeErrorResponse } from "../http/ErrorResponse.ts"
import { readBearerToken } from "../http/InternalAuthHttp.ts"
import { isForm } from "../http/RequestBody.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { SessionCookie } from "../http/SecretCookies.ts"
import { WebSettings } from "../http/WebSettings.ts"
import { currentAddressKey } from "../http/RateLimitsHttp.ts"
import { type AuthenticatedSession, classifyBearerToken, RequestCredentials } from "../http/RequestCredentials.ts"
import { resolveCallbackPath } from "./CallbackPath.ts"

const encodeSignedIn = Schema.encodeSync(SignedIn)
const encodeSession = Schema.encodeSync(CurrentSession)

const showSession = Option.match({
  onNone: (): typeof CurrentSession.Type => ({ user: null, expiresAt: null }),
  onSome: ({ session: { expiresAt }, user: { email, id, name } }: AuthenticatedSession) => ({
    user: { id, email, name },
    expiresAt
  })
})

/** Hot path: GET /api/auth/session bypasses HttpApi, with the same contract. */
export const makeDirectSession = Effect.map(RequestCredentials, ({ findSession }) => {
  const answer = Effect.match(findSession, {
    onFailure: (failure) =>
      failure._tag === "ScopeMissing"
        ? makeErrorResponse(ScopeMissingBody, failure)
        : makeErrorResponse(AuthenticationRequiredBody, failure),
    onSuccess: (session) => HttpServerResponse.unsafeJson(encodeSession(showSession(session)))
  })
  return (): RequestHandler => answer
})

export const layer = group(WebApi, "signin", (handlers) =>
  Effect.gen(function* () {
    const signIn = yield* PasswordSignIn
    const sessions = yield* Sessions
    const social = yield* SocialSessions
    const cookie = yield* SessionCookie
    const credentials = yield* RequestCredentials
    const { appUrl } = yield* WebSettings

    return handlers
      .handle("credentials", ({ payload, request }) =>
        Effect.gen(function* () {
          const address = yield* currentAddressKey
          const { token, user } = yield* signIn
            .signIn({ email: payload.email, password: payload.password, address, current: cookie.read(request) })
            .pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
          yield* (yield* Caller).identify(user.id)
          const url = resolveCallbackPath(payload.callbackUrl, appUrl)
          const response = isForm(request)
            ? HttpServerResponse.redirect(url, { status: 302 })
            : HttpServerResponse.unsafeJson(
                encodeSignedIn({ user: { id: user.id, email: user.email, name: user.name }, url })
              )
          return cookie.set(response, token)
        })
      )
      .handle("current", () => Effect.map(credentials.findSession, showSession))
      .handle("signOut", ({ request }) =>
        Effect.zipRight(
          Option.match(cookie.read(request), { onNone: () => Effect.void, onSome: sessions.revokeByToken }),
          Option.match(readBearerToken(request), {
            onNone: () => Effect.void,
            onSome: (token) =>
              classifyBearerToken(token) === "api-key" ? Effect.asVoid(credentials.requireSession) : social.close(token)
          })
        ).pipe(Effect.as(cookie.clear(HttpServerResponse.unsafeJson({ success: true }))))
      )
  })
)
