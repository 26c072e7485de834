import { BackendApi } from "@berth/api/BackendApi"
import { RuntimeMcpTools } from "@berth/api/runtime/RuntimeContract"
import { TurnMcpTools } from "@berth/domain/interaction/turns/TurnMcpTools"
import { Effect, Schema } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { makeOwnTurn } from "./OwnTurn.ts"

const encodeTools = Schema.encodeSync(RuntimeMcpTools)

export const layer = group(BackendApi, "runtimeMcp", (handlers) =>
  Effect.gen(function* () {
    const tools = yield* TurnMcpTools
    const own = yield* makeOwnTurn

    return handlers.handle("call", ({ payload: { call, ...of } }) =>
      Effect.gen(function* () {
        const turn = yield* own(of)
        return { text: call.action === "list" ? encodeTools(yield* tools.list(turn)) : yield* tools.call(turn, call) }
      }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
    )
  })
)
