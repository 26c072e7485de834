import { OptionalSessionAuth, SessionAuth } from "@berth/api/sessions/SessionAuth"
import type { UserId } from "@berth/domain/accounts/User"
import { Caller } from "@berth/domain/sessions/Caller"
import { NotSignedIn } from "@berth/domain/sessions/SessionErrors"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { HttpServerRequest } from "@effect/platform"
import { Effect, Layer, Option } from "effect"
import { SessionCookie } from "./SessionCookie.ts"

const identify = (user: UserId) => Effect.flatMap(Caller, (caller) => caller.identify(user))

/** Who makes the current request, by its session cookie. */
export class RequestSession extends Effect.Service<RequestSession>()("@berth/RequestSession", {
  effect: Effect.gen(function* () {
    const sessions = yield* Sessions
    const cookie = yield* SessionCookie

    const find = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      Option.match(cookie.read(request), { onNone: () => Effect.succeedNone, onSome: sessions.authenticate })
    ).pipe(Effect.tap(Option.match({ onNone: () => Effect.void, onSome: ({ user }) => identify(user.id) })))
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
