import {
  RuntimeA2aCall,
  runtimeA2aPath,
  RuntimeErrorBody,
  RuntimeMcpCall,
  runtimeMcpPath,
  RuntimeTextAnswer,
  RuntimeWalletCall,
  runtimeWalletPath
} from "@berth/api/runtime/RuntimeContract"
import { ToolFailed } from "@berth/domain/skills/tools/Tool"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import { Context, Effect, Layer, type Schema } from "effect"
import type { BackendAccess } from "../Backend.ts"
import type { TurnAgent } from "./Toolbox.ts"

/** A tool call that the backend answers with a text for the model. */
type BackendCall<C> = (turn: Pick<TurnAgent, "id" | "messageId">, call: C) => Effect.Effect<string, ToolFailed>

interface Request<C> {
  readonly agentId: TurnAgent["id"]
  readonly messageId: string
  readonly call: C
}

/**
 * Calls a route of the backend with the runtime token, without retries. `what` names it in reasons, for example "The
 * wallet".
 */
const makeBackendCall = <C, I>(
  { backendUrl, token }: BackendAccess,
  {
    path,
    request,
    what
  }: { readonly path: string; readonly request: Schema.Schema<Request<C>, I>; readonly what: string }
) =>
  Effect.map(HttpClient.HttpClient, (client): BackendCall<C> => {
    const failed = (reason: string) => () => new ToolFailed({ reason })
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
                onSuccess: ({ message }) => new ToolFailed({ reason: message }),
                onFailure: notUnderstood
              })
        )
      )
    )
  })

/** The owner's wallet. The backend decides by the turn and the owner's limits; the instance has no key. */
export class WalletBackend extends Context.Tag("@berth/runtime/WalletBackend")<
  WalletBackend,
  BackendCall<(typeof RuntimeWalletCall.Type)["call"]>
>() {}

/** Messages to other agents. The backend continues the turn's chain, which the model cannot see. */
export class A2aBackend extends Context.Tag("@berth/runtime/A2aBackend")<
  A2aBackend,
  BackendCall<(typeof RuntimeA2aCall.Type)["call"]>
>() {}

/** Tools of the agent's MCP servers, whose addresses and secrets stay in the backend. */
export class McpBackend extends Context.Tag("@berth/runtime/McpBackend")<
  McpBackend,
  BackendCall<(typeof RuntimeMcpCall.Type)["call"]>
>() {}

export const layer = (access: BackendAccess) =>
  Layer.mergeAll(
    Layer.effect(
      WalletBackend,
      makeBackendCall(access, { path: runtimeWalletPath, request: RuntimeWalletCall, what: "The wallet" })
    ),
    Layer.effect(
      A2aBackend,
      makeBackendCall(access, { path: runtimeA2aPath, request: RuntimeA2aCall, what: "The service" })
    ),
    Layer.effect(
      McpBackend,
      makeBackendCall(access, { path: runtimeMcpPath, request: RuntimeMcpCall, what: "The MCP server" })
    )
  )
