import { RuntimeErrorBody } from "@berth/api/runtime/RuntimeContract"
import { Effect, Option, type Redacted, Schema } from "effect"

/** Access of the runtime to the backend. */
export interface BackendAccess {
  readonly backendUrl: string
  readonly token: Redacted.Redacted
}

const decodeRefusal = Schema.decodeUnknownOption(Schema.parseJson(RuntimeErrorBody))

/** Returns the backend's message of a rejection, or a default that names `what`. */
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
