import { Effect, Option, type Redacted } from "effect"
import { AccessTokens } from "./AccessTokens.ts"
import { AuthenticationRequired } from "./SessionErrors.ts"
import { Sessions } from "./Sessions.ts"

/** Authenticates access tokens. A sign-out ends the session and its tokens. */
export class BearerSessions extends Effect.Service<BearerSessions>()("@berth/BearerSessions", {
  effect: Effect.gen(function* () {
    const tokens = yield* AccessTokens
    const sessions = yield* Sessions
    const authenticate = Effect.fn("BearerSessions.authenticate")(function* (token: Redacted.Redacted) {
      const claims = yield* Effect.mapError(tokens.verify(token), () => new AuthenticationRequired())
      const current = Option.filter(yield* sessions.find(claims.sessionId), ({ user }) => user.id === claims.userId)
      return yield* Effect.mapError(current, () => new AuthenticationRequired())
    })
    return { authenticate }
  })
}) {}
