import { RuntimeA2aCall, runtimeA2aPath } from "@berth/api/runtime/RuntimeContract"
import { Context, Effect, Layer } from "effect"
import type { BackendAccess } from "../../Backend.ts"
import { type BackendCall, makeBackendCall } from "../BackendCalls.ts"

/** Messages to other agents. The backend continues the turn's chain, which the model cannot see. */
export class A2aBackend extends Context.Tag("@berth/runtime/A2aBackend")<
  A2aBackend,
  { readonly call: BackendCall<(typeof RuntimeA2aCall.Type)["call"]> }
>() {}

export const layer = (access: BackendAccess) =>
  Layer.effect(
    A2aBackend,
    Effect.map(
      makeBackendCall(access, { path: runtimeA2aPath, request: RuntimeA2aCall, what: "The service" }),
      (call) => ({ call })
    )
  )
