import { BackendApi } from "@berth/api/BackendApi"
import { A2aCalls } from "@berth/domain/a2a/A2aCalls"
import { Effect } from "effect"
import { group } from "../http/ApiGroup.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { makeOwnTurn } from "./OwnTurn.ts"

export const layer = group(BackendApi, "runtimeA2a", (handlers) =>
  Effect.gen(function* () {
    const calls = yield* A2aCalls
    const own = yield* makeOwnTurn

    return handlers.handle("call", ({ payload: { call, ...of } }) =>
      Effect.gen(function* () {
        const turn = yield* own(of)
        return { text: yield* call.action === "list_agents" ? calls.listAgents(turn) : calls.send(turn, call) }
      }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
    )
  })
)
