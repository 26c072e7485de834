import { Effect, Option } from "effect"
import type { DirectHandler, DirectRoute, DirectRoutes } from "../http/DirectRoutes.ts"
import { makeModelAccessCheck } from "./AiAccessHttp.ts"
import * as AiHttp from "./AiHttp.ts"
import * as OpenAiHttp from "./OpenAiHttp.ts"

/** Hot path: model calls bypass the router; a request that is not allowed falls through to it for its error. */
export const makeAiDirectRoutes = Effect.gen(function* () {
  const check = yield* makeModelAccessCheck
  const guarded = (handle: DirectHandler): DirectRoute => ({
    isAllowed: (request) => Option.isNone(check(request)),
    handle
  })
  const routes: DirectRoutes = new Map([
    ["POST /api/ai/chat", guarded(yield* AiHttp.makeDirectChat)],
    ["POST /v1/chat/completions", guarded(yield* OpenAiHttp.makeDirectCompletion)]
  ])
  return routes
})
