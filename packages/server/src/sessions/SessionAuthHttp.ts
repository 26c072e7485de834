import { OptionalSessionAuth, SessionAuth } from "@berth/api/sessions/SessionAuth"
import { Effect, Layer, Option } from "effect"
import { RequestSession } from "../http/RequestSession.ts"

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
