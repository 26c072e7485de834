import { RuntimeErrorBody } from "@berth/api/runtime/RuntimeContract"
import { Effect, Option, type Redacted, Schema } from "effect"

/** How the runtime reaches the backend. */
export interface BackendAccess {
  readonly backendUrl: string
  readonly token: Redacted.Redacted
}

const decodeRefusal = Schema.decodeUnknownOption(Schema.parseJson(RuntimeErrorBody))

/** The backend's own sentence about a refusal, or one about `what` answered. */
export const readRefusal = (
  { status, text: body }: { readonly status: number; readonly text: Effect.Effect<string, unknown> },
  what: string
): Effect.Effect<string> =>
  body.pipe(
    Effect.orElseSucceed(() => ""),
    Effect.map((text) =>
      decodeRefusal(text).pipe(
        Option.map(({ message }) => message.slice(0, 500)),
        Option.getOrElse(() => `${what} answered with status ${status}.`)
      )
    )
  )
