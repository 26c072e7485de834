import { OptionalPrincipalAuth, PrincipalAuth, SessionAuth } from "@berth/api/sessions/SessionAuth"
import { Effect, Layer, Option } from "effect"
import { RequestCredentials } from "../http/RequestCredentials.ts"

const session = Layer.effect(
  SessionAuth,
  Effect.map(RequestCredentials, ({ requireSession }) =>
    SessionAuth.of({
      session: () => Effect.map(requireSession, ({ session: { id }, user }) => ({ user, sessionId: id }))
    })
  )
)

const principal = Layer.effect(
  PrincipalAuth,
  Effect.map(RequestCredentials, ({ require }) => PrincipalAuth.of({ session: () => require }))
)

const optional = Layer.effect(
  OptionalPrincipalAuth,
  Effect.map(RequestCredentials, ({ find }) =>
    OptionalPrincipalAuth.of(Effect.map(find, (authenticated) => Option.map(authenticated, ({ user }) => user)))
  )
)

export const layer = Layer.mergeAll(session, principal, optional)
