import { Effect } from "effect"
import type { DirectHandler, DirectRoutes } from "../http/DirectRoutes.ts"
import { makeModelAccessCheck } from "./AiAccessHttp.ts"
import * as AiHttp from "./AiHttp.ts"
import * as OpenAiHttp from "./OpenAiHttp.ts"

/** The model calls, answered without the router for whoever may make them; to others the router says no. */
export const makeAiDirectRoutes = Effect.gen(function* () {
  const may = yield* makeModelAccessCheck
  const guarded =
    (answer: DirectHandler): DirectHandler =>
    (request, json) =>
      may(request) ? answer(request, json) : Effect.succeedNone
  const routes: DirectRoutes = new Map([
    ["POST /api/ai/chat", guarded(yield* AiHttp.makeDirectChat)],
    ["POST /v1/chat/completions", guarded(yield* OpenAiHttp.makeDirectCompletion)]
  ])
  return routes
})
