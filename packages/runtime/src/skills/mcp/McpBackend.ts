import { RuntimeMcpCall, runtimeMcpPath } from "@berth/api/runtime/RuntimeContract"
import { Context, Effect, Layer } from "effect"
import type { BackendAccess } from "../../Backend.ts"
import { type BackendCall, makeBackendCall } from "../BackendCalls.ts"

/** Tools of the agent's MCP servers, whose addresses and secrets stay in the backend. */
export class McpBackend extends Context.Tag("@berth/runtime/McpBackend")<
  McpBackend,
  { readonly call: BackendCall<(typeof RuntimeMcpCall.Type)["call"]> }
>() {}

export const layer = (access: BackendAccess) =>
  Layer.effect(
    McpBackend,
    Effect.map(
      makeBackendCall(access, { path: runtimeMcpPath, request: RuntimeMcpCall, what: "The MCP server" }),
      (call) => ({ call })
    )
  )
