import { RuntimeErrorBody } from "@berth/api/runtime/RuntimeContract"
import type { HttpClientResponse } from "@effect/platform/HttpClientResponse"
import { Effect, Option, type Redacted, Schema } from "effect"

/** How the runtime reaches the backend. */
export interface BackendAccess {
  readonly backendUrl: string
  readonly token: Redacted.Redacted
}

const decodeRefusal = Schema.decodeUnknownOption(Schema.parseJson(RuntimeErrorBody))

/** The backend's own sentence about a refusal, or one about `what` answered. */
export const readRefusal = (response: HttpClientResponse, what: string): Effect.Effect<string> =>
  response.text.pipe(
    Effect.orElseSucceed(() => ""),
    Effect.map((text) =>
      decodeRefusal(text).pipe(
        Option.map(({ message }) => message.slice(0, 500)),
        Option.getOrElse(() => `${what} answered with status ${response.status}.`)
      )
    )
  )
