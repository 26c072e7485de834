import { Caller } from "@berth/domain/sessions/Caller"
import { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { Sessions } from "@berth/domain/sessions/Sessions"
import { SocialSessions } from "@berth/domain/signin/social/SocialSessions"
import { HttpServerRequest } from "@effect/platform"
import { Effect, Option } from "effect"
import { readBearerToken } from "./InternalAuthHttp.ts"
import { SessionCookie } from "./SecretCookies.ts"
import type { UserId } from "@berth/domain/shared/UserId"

const identify = (user: UserId) => Effect.flatMap(Caller, (caller) => caller.identify(user))

/** Session of a request: by the cookie, else by the bearer token of a social session. */
export class RequestSession extends Effect.Service<RequestSession>()("@berth/RequestSession", {
  effect: Effect.gen(function* () {
    const sessions = yield* Sessions
    const social = yield* SocialSessions
    const cookie = yield* SessionCookie

    const of = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.gen(function* () {
        const byCookie = Option.flatten(yield* Effect.transposeMapOption(cookie.read(request), sessions.authenticate))
        if (Option.isSome(byCookie)) return byCookie
        return Option.flatten(yield* Effect.transposeMapOption(readBearerToken(request), social.authenticate))
      })

    /** Session of the current request; identifies its caller. */
    const find = Effect.flatMap(HttpServerRequest.HttpServerRequest, of).pipe(
      Effect.tap(Option.match({ onNone: () => Effect.void, onSome: ({ user }) => identify(user.id) }))
    )
    const require = Effect.flatMap(
      find,
      Option.match({
        onNone: () => Effect.fail(new AuthenticationRequired()),
        onSome: ({ session, user }) => Effect.succeed({ user, sessionId: session.id })
      })
    )
    return { of, find, require }
  })
}) {}
