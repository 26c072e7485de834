import { RuntimeErrorBody, RuntimeTextAnswer } from "@berth/api/runtime/RuntimeContract"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Data, Effect, type Schema } from "effect"
import type { BackendAccess } from "../Backend.ts"
import type { TurnAgent } from "./Toolbox.ts"

/** The reason is a sentence. */
export class BackendCallFailed extends Data.TaggedError("BackendCallFailed")<{ readonly reason: string }> {}

/** A tool call that the backend answers with a text for the model. */
export type BackendCall<C> = (
  turn: Pick<TurnAgent, "id" | "messageId">,
  call: C
) => Effect.Effect<string, BackendCallFailed>

interface Request<C> {
  readonly agentId: TurnAgent["id"]
  readonly messageId: string
  readonly call: C
}

/**
 * Calls a route of the backend with the runtime token, without retries. `what` names it in reasons, for example "The
 * wallet".
 */
export const makeBackendCall = <C, I>(
  { backendUrl, token }: BackendAccess,
  {
    path,
    request,
    what
  }: { readonly path: string; readonly request: Schema.Schema<Request<C>, I>; readonly what: string }
) =>
  Effect.map(HttpClient.HttpClient, (client): BackendCall<C> => {
    const failed = (reason: string) => () => new BackendCallFailed({ reason })
    const notUnderstood = failed(`${what} answered in a way that is not understood.`)
    return Effect.fn("Backend.call")(({ id: agentId, messageId }, call) =>
      HttpClientRequest.schemaBodyJson(request)(HttpClientRequest.post(new URL(path, backendUrl)), {
        agentId,
        messageId,
        call
      }).pipe(
        Effect.mapError(failed("The arguments are too long.")),
        Effect.flatMap((sent) =>
          Effect.mapError(
            client.execute(HttpClientRequest.bearerToken(sent, token)),
            failed(`${what} could not be reached.`)
          )
        ),
        Effect.flatMap((response) =>
          response.status === 200
            ? HttpClientResponse.schemaBodyJson(RuntimeTextAnswer)(response).pipe(
                Effect.mapBoth({ onSuccess: ({ text }) => text, onFailure: notUnderstood })
              )
            : Effect.matchEffect(HttpClientResponse.schemaBodyJson(RuntimeErrorBody)(response), {
                onSuccess: ({ message }) => new BackendCallFailed({ reason: message }),
                onFailure: notUnderstood
              })
        )
      )
    )
  })
