import { OptionalSessionAuth, SessionAuth } from "@berth/api/sessions/SessionAuth"
import type { UserId } from "@berth/domain/accounts/User"
import { Caller } from "@berth/domain/sessions/Caller"
import { NotSignedIn } from "@berth/domain/sessions/SessionErrors"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { SocialSessions } from "@berth/domain/signin/SocialSessions"
import { HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import { tokenOf } from "../http/InternalAuthHttp.ts"
import { SessionCookie } from "./SessionCookie.ts"

const identify = (user: UserId) => Effect.flatMap(Caller, (caller) => caller.identify(user))

/** Who makes the current request, by its session cookie, or by the bearer token of a session without one. */
export class RequestSession extends Effect.Service<RequestSession>()("@berth/RequestSession", {
  effect: Effect.gen(function* () {
    const sessions = yield* Sessions
    const social = yield* SocialSessions
    const cookie = yield* SessionCookie

    const byCookie = (request: HttpServerRequest.HttpServerRequest) =>
      Option.match(cookie.read(request), { onNone: () => Effect.succeedNone, onSome: sessions.authenticate })
    const byToken = (request: HttpServerRequest.HttpServerRequest) =>
      Option.match(tokenOf(request), { onNone: () => Effect.succeedNone, onSome: social.authenticate })

    const find = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const found = yield* byCookie(request)
      return Option.isSome(found) ? found : yield* byToken(request)
    }).pipe(Effect.tap(Option.match({ onNone: () => Effect.void, onSome: ({ user }) => identify(user.id) })))
    const require = Effect.flatMap(
      find,
      Option.match({
        onNone: () => Effect.fail(new NotSignedIn()),
        onSome: ({ session, user }) => Effect.succeed({ user, sessionId: session.id })
      })
    )
    return { find, require }
  })
}) {}

const required = Layer.effect(
  SessionAuth,
  Effect.map(RequestSession, ({ require }) => SessionAuth.of({ session: () => require }))
)

const optional = Layer.effect(
  OptionalSessionAuth,
  Effect.map(RequestSession, ({ find }) =>
    OptionalSessionAuth.of(Effect.map(find, (found) => Option.map(found, ({ user }) => user)))
  )
)

export const layer = Layer.merge(required, optional)
