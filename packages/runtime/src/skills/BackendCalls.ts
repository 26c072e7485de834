import {
  RuntimeA2aCall,
  runtimeA2aPath,
  RuntimeMcpCall,
  runtimeMcpPath,
  RuntimeTextAnswer,
  RuntimeWalletCall,
  runtimeWalletPath
} from "@berth/api/runtime/RuntimeContract"
import type { ToolFailed } from "@berth/domain/skills/tools/Tool"
import { Context, Effect, Layer, type Schema } from "effect"
import { type BackendAccess, decodeAnswer, makeBackendPost } from "../Backend.ts"
import type { TurnAgent } from "./Toolbox.ts"

/** A tool call that the backend answers with a text for the model. */
type BackendCall<C> = (turn: Pick<TurnAgent, "id" | "messageId">, call: C) => Effect.Effect<string, ToolFailed>

interface Request<C> {
  readonly agentId: TurnAgent["id"]
  readonly messageId: string
  readonly call: C
}

const makeBackendCall = <C, I>(
  access: BackendAccess,
  what: string,
  path: string,
  schema: Schema.Schema<Request<C>, I>
) =>
  Effect.map(makeBackendPost(access, what), (post): BackendCall<C> => {
    const decode = decodeAnswer(RuntimeTextAnswer, what)
    return Effect.fn("Backend.call")(({ id: agentId, messageId }, call) =>
      post(path, schema, { agentId, messageId, call }).pipe(
        Effect.flatMap(decode),
        Effect.map(({ text }) => text)
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
    Layer.effect(WalletBackend, makeBackendCall(access, "The wallet", runtimeWalletPath, RuntimeWalletCall)),
    Layer.effect(A2aBackend, makeBackendCall(access, "The service", runtimeA2aPath, RuntimeA2aCall)),
    Layer.effect(McpBackend, makeBackendCall(access, "The MCP server", runtimeMcpPath, RuntimeMcpCall))
  )
