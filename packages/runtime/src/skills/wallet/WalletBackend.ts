import { RuntimeWalletCall, runtimeWalletPath } from "@berth/api/runtime/RuntimeContract"
import { Context, Effect, Layer } from "effect"
import type { BackendAccess } from "../../Backend.ts"
import { type BackendCall, makeBackendCall } from "../BackendCalls.ts"

/** The owner's wallet. The backend decides by the turn and the owner's limits; the instance has no key. */
export class WalletBackend extends Context.Tag("@berth/runtime/WalletBackend")<
  WalletBackend,
  { readonly call: BackendCall<(typeof RuntimeWalletCall.Type)["call"]> }
>() {}

/** Wallet route of the backend, which identifies payments by the turn. */
export const layer = (access: BackendAccess) =>
  Layer.effect(
    WalletBackend,
    Effect.map(
      makeBackendCall(access, { path: runtimeWalletPath, request: RuntimeWalletCall, what: "The wallet" }),
      (call) => ({ call })
    )
  )
