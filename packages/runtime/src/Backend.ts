import { RuntimeErrorBody } from "@berth/api/runtime/RuntimeContract"
import { ToolFailed } from "@berth/domain/skills/tools/Tool"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Effect, flow, Option, type Redacted, Schema } from "effect"

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
      Option.match(decodeRefusal(text), {
        onNone: () => `${what} answered with status ${status}.`,
        onSome: ({ message }) => message
      })
    )
  )

const failed = (reason: string) => new ToolFailed({ reason })

/**
 * Posts to the backend with the runtime token, without retries. `what` names the route in reasons, for example "The
 * wallet".
 */
export const makeBackendPost = ({ backendUrl, token }: BackendAccess, what: string) =>
  Effect.map(
    HttpClient.HttpClient,
    (client) =>
      <A, I>(path: string, schema: Schema.Schema<A, I>, body: A, expectedStatus = 200) =>
        HttpClientRequest.post(new URL(path, backendUrl)).pipe(
          HttpClientRequest.bearerToken(token),
          HttpClientRequest.schemaBodyJson(schema)(body),
          Effect.mapError(() => failed("The arguments are too long.")),
          Effect.flatMap((request) =>
            Effect.mapError(client.execute(request), () => failed(`${what} could not be reached.`))
          ),
          Effect.flatMap((response) =>
            response.status === expectedStatus
              ? Effect.succeed(response)
              : Effect.flatMap(readRefusal(response, what), failed)
          )
        )
  )

/** Decodes the backend's response; `what` as of `makeBackendPost`. */
export const decodeAnswer = <A, I>(schema: Schema.Schema<A, I>, what: string) =>
  flow(
    HttpClientResponse.schemaBodyJson(schema),
    Effect.mapError(() => failed(`${what} answered in a way that is not understood.`))
  )
