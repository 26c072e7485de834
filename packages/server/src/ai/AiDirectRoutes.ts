import { Effect } from "effect"
import type { DirectAnswer, DirectRoutes } from "../http/DirectRoutes.ts"
import { mayUseModels } from "./AiAccessHttp.ts"
import * as AiHttp from "./AiHttp.ts"
import * as OpenAiHttp from "./OpenAiHttp.ts"

/** The model calls, answered without the router for whoever may make them; to others the router says no. */
export const directRoutes = Effect.gen(function* () {
  const may = yield* mayUseModels
  const guarded =
    (answer: DirectAnswer): DirectAnswer =>
    (request, json) =>
      may(request) ? answer(request, json) : Effect.succeedNone
  const routes: DirectRoutes = new Map([
    ["POST /api/ai/chat", guarded(yield* AiHttp.direct)],
    ["POST /v1/chat/completions", guarded(yield* OpenAiHttp.direct)]
  ])
  return routes
})
