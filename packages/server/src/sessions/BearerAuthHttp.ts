import { AccessTokenRequired, BearerAuth } from "@berth/api/sessions/BearerAuth"
import { BearerSessions } from "@berth/domain/sessions/BearerSessions"
import { Effect, Layer, Option } from "effect"
import { currentBearerToken } from "../http/InternalAuthHttp.ts"
import { addResponseHeaders, bearerChallenge } from "../http/ResponseHeaders.ts"

/** RFC 6750, section 3: `error` only if a token was presented. */
const addChallengeHeader = (error: Option.Option<"invalid_token">) =>
  addResponseHeaders({
    "www-authenticate": `${bearerChallenge}${Option.match(error, { onNone: () => "", onSome: (code) => `, error="${code}"` })}`
  })

const failWithChallenge = (error: Option.Option<"invalid_token">) =>
  Effect.zipRight(addChallengeHeader(error), new AccessTokenRequired())

export const layer = Layer.effect(
  BearerAuth,
  Effect.map(BearerSessions, (sessions) =>
    BearerAuth.of({
      jwt: () =>
        Effect.flatMap(
          currentBearerToken,
          Option.match({
            onNone: () => failWithChallenge(Option.none()),
            onSome: (token) =>
              Effect.matchEffect(sessions.authenticate(token), {
                onFailure: () => failWithChallenge(Option.some("invalid_token")),
                onSuccess: ({ session, user }) => Effect.succeed({ user, sessionId: session.id })
              })
          })
        )
    })
  )
)
