import { RequiredScope } from "@berth/api/sessions/RequiredScope"
import { apiKeyPrefix } from "@berth/domain/accounts/api-keys/ApiKey"
import { ApiKeys } from "@berth/domain/accounts/api-keys/ApiKeys"
import { ScopeMissing } from "@berth/domain/sessions/ApiKeyScope"
import { BearerSessions } from "@berth/domain/sessions/BearerSessions"
import { Caller } from "@berth/domain/sessions/Caller"
import type { ApiKeyProof, GatewayTokenProof } from "@berth/domain/sessions/Principal"
import type { Session, SessionId } from "@berth/domain/sessions/Session"
import { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { useService } from "@berth/domain/shared/HotPath"
import type { User } from "@berth/domain/shared/User"
import { SocialSessions } from "@berth/domain/signin/social/SocialSessions"
import { Cookies, HttpApp, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Effect, FiberRef, HashMap, Option, Redacted } from "effect"
import { CredentialWatch, currentCredentialWatch } from "./CredentialWatch.ts"
import { readBearerToken } from "./InternalAuthHttp.ts"
import { bearerChallenge } from "./ResponseHeaders.ts"
import { InstanceCredentials } from "./InstanceCredentials.ts"
import { InstanceHost } from "./InstanceHost.ts"
import { SessionCookie } from "./SecretCookies.ts"

/** Classifies bearer tokens. The token of a social session is base64, which excludes `.` and `_`. */
export const classifyBearerToken = (token: Redacted.Redacted): "api-key" | "access-token" | "session" => {
  const text = Redacted.value(token)
  return text.startsWith(apiKeyPrefix) ? "api-key" : text.includes(".") ? "access-token" : "session"
}

type Request = HttpServerRequest.HttpServerRequest

export interface AuthenticatedSession {
  readonly user: User
  readonly session: Session
  readonly proof: { readonly by: "session"; readonly id: SessionId }
}

/** Caller of a request: by a session (or its access token), an API key, or a gateway token. */
export type Authenticated =
  AuthenticatedSession | { readonly user: User; readonly proof: ApiKeyProof | GatewayTokenProof }

const bySession = ({ session, user }: { readonly session: Session; readonly user: User }): Authenticated => ({
  user,
  session,
  proof: { by: "session", id: session.id }
})

const orInvalid = <A>(option: Option.Option<A>) => Effect.mapError(option, () => new AuthenticationRequired())

/** RFC 6750, section 3.1. Another error, such as 429, can replace that of the credential. */
const addChallenge = (error: string) =>
  HttpApp.appendPreResponseHandler((_request, response) =>
    Effect.succeed(
      response.status === 401 || response.status === 403
        ? HttpServerResponse.setHeader(response, "www-authenticate", `${bearerChallenge}, error="${error}"`)
        : response
    )
  )

/**
 * Credential of a request: the bearer token if present, else the session cookie. An unknown cookie is ignored; an
 * invalid bearer token fails. API keys require the scope of the route.
 */
export class RequestCredentials extends Effect.Service<RequestCredentials>()("@berth/RequestCredentials", {
  effect: Effect.gen(function* () {
    const sessions = yield* Sessions
    const social = yield* SocialSessions
    const accessTokens = yield* BearerSessions
    const apiKeys = yield* ApiKeys
    const watch = yield* CredentialWatch
    const cookie = yield* SessionCookie
    const atInstances = yield* InstanceCredentials

    /** Extends the cookie like the session, unless the response sets it or the session has ended meanwhile. */
    const extendCookie = (token: Redacted.Redacted) => (id: SessionId) =>
      HttpApp.appendPreResponseHandler((_request, response) =>
        Option.isSome(Cookies.get(response.cookies, cookie.name))
          ? Effect.succeed(response)
          : Effect.map(sessions.find(id), (found) => (Option.isSome(found) ? cookie.set(response, token) : response))
      )

    const readCookie = (
      request: Request,
      onRenewed?: (token: Redacted.Redacted) => (id: SessionId) => Effect.Effect<void>
    ): Effect.Effect<Option.Option<Authenticated>> =>
      Option.match(cookie.read(request), {
        onNone: () => Effect.succeedNone,
        onSome: (token) => Effect.map(sessions.authenticate(token, onRenewed?.(token)), Option.map(bySession))
      })

    const checkApiKey = Effect.fnUntraced(function* (token: Redacted.Redacted) {
      const { key, user } = yield* apiKeys.authenticate(token, yield* RequiredScope)
      yield* Effect.annotateCurrentSpan("berth.api_key.id", key.id)
      // Each request has a separate fiber, so its later log lines contain the key.
      yield* FiberRef.update(FiberRef.currentLogAnnotations, HashMap.set<string, unknown>("apiKeyId", key.id))
      return { user, proof: { by: "api-key", id: key.id, scopes: key.scopes } } satisfies Authenticated
    })

    const checkBearer = (
      token: Redacted.Redacted,
      accepted: "session" | "access-token"
    ): Effect.Effect<Authenticated, AuthenticationRequired | ScopeMissing> => {
      const kind = classifyBearerToken(token)
      if (kind === "api-key") return checkApiKey(token)
      if (kind !== accepted) return new AuthenticationRequired()
      return kind === "access-token"
        ? Effect.map(accessTokens.authenticate(token), bySession)
        : Effect.map(Effect.flatMap(social.authenticate(token), orInvalid), bySession)
    }

    /**
     * At an instance's subdomain: its gateway token, its cookie, or an API key or session of its owner. Credentials of
     * other users fail like unknown ones, so that responses do not reveal whether the instance exists.
     */
    const atInstance = Effect.fnUntraced(function* (
      request: Request,
      subdomain: string
    ): Effect.fn.Return<Option.Option<Authenticated>, AuthenticationRequired | ScopeMissing> {
      const token = readBearerToken(request)
      if (Option.isSome(token) && classifyBearerToken(token.value) !== "api-key")
        return Option.some(yield* Effect.flatMap(atInstances.findByToken(token.value, subdomain), orInvalid))
      const byCookie = Option.isSome(token) ? Option.none() : yield* atInstances.findByCookie(request, subdomain)
      if (Option.isSome(byCookie)) return Option.some(bySession(byCookie.value))
      const found = yield* Option.match(token, {
        onNone: () => readCookie(request),
        onSome: (key) => Effect.asSome(checkApiKey(key))
      })
      if (Option.isSome(found) && !(yield* atInstances.isOwner(found.value.user, subdomain)))
        return yield* new AuthenticationRequired()
      return found
    })

    /**
     * Routes accept either the cookie and session bearer tokens, or access tokens only; both accept API keys by scope.
     */
    const of = (request: Request, accepted: "session" | "access-token") =>
      useService(InstanceHost, (site) =>
        Option.isSome(site)
          ? atInstance(request, site.value.subdomain)
          : Option.match(readBearerToken(request), {
              onNone: () => (accepted === "session" ? readCookie(request, extendCookie) : Effect.succeedNone),
              onSome: (token) => Effect.asSome(checkBearer(token, accepted))
            })
      )

    /** Sets a credential verified elsewhere as that of the request. */
    const accept = (authenticated: Authenticated) => {
      const { proof, user } = authenticated
      return FiberRef.set(currentCredentialWatch, Option.some(watch.watch(user.id, proof))).pipe(
        Effect.zipRight(useService(Caller, (caller) => caller.identify(user.id))),
        Effect.as(authenticated)
      )
    }

    const read = (accepted: "session" | "access-token") =>
      useService(HttpServerRequest.HttpServerRequest, (request) =>
        Effect.flatMap(of(request, accepted), (found) =>
          Option.isNone(found) ? Effect.succeed(found) : Effect.asSome(accept(found.value))
        )
      )

    const withChallenge = <A, R>(authenticated: Effect.Effect<A, AuthenticationRequired | ScopeMissing, R>) =>
      Effect.tapError(authenticated, ({ _tag }) =>
        addChallenge(_tag === "ScopeMissing" ? "insufficient_scope" : "invalid_token")
      )

    const sessionOnly = (authenticated: Authenticated) =>
      "session" in authenticated ? Effect.succeed(authenticated) : new ScopeMissing({ required: null })

    /** Returns the caller of the current request, if it has a credential. */
    const find = withChallenge(read("session"))
    const require = Effect.flatMap(find, orInvalid)
    /** Returns the session of the current request, if any; rejects API keys. */
    const findSession = withChallenge(Effect.flatMap(read("session"), Effect.transposeMapOption(sessionOnly)))
    const requireSession = Effect.flatMap(findSession, orInvalid)
    /** Returns the caller of an access token or an API key, if any. */
    const findToken = withChallenge(read("access-token"))
    /**
     * Returns the user of a page; an invalid token counts as none, since such a page is shown without a session too.
     */
    const findVisitor = Effect.flatMap(read("session"), Effect.transposeMapOption(sessionOnly)).pipe(
      Effect.map((known) => Option.map(known, ({ user }) => user)),
      Effect.orElseSucceed(() => Option.none<User>())
    )
    return { of, accept, find, require, findSession, requireSession, findToken, findVisitor }
  })
}) {}
