import { useService } from "@berth/domain/shared/HotPath"
import { HttpServerRequest } from "@effect/platform"
import { Effect, Option } from "effect"
import type { DirectAnswer, DirectRoutes, RequestHandler } from "../http/DirectRoutes.ts"
import { makeModelAccessCheck } from "./AiAccessHttp.ts"
import * as AiHttp from "./AiHttp.ts"
import * as OpenAiHttp from "./OpenAiHttp.ts"

/** Hot path: model calls bypass their contract, which handles only forbidden or invalid requests. */
export const makeAiDirectRoutes = Effect.gen(function* () {
  const check = yield* makeModelAccessCheck
  const guarded =
    (answer: DirectAnswer) =>
    (contract: RequestHandler): RequestHandler =>
      useService(HttpServerRequest.HttpServerRequest, (request) =>
        Option.isSome(check(request))
          ? contract
          : Effect.matchCauseEffect(request.json, {
              onFailure: () => contract,
              onSuccess: (json) => Option.getOrElse(answer(json), () => contract)
            })
      )
  const routes: DirectRoutes = new Map([
    ["POST /api/ai/chat", guarded(yield* AiHttp.makeDirectChat)],
    ["POST /v1/chat/completions", guarded(yield* OpenAiHttp.makeDirectCompletion)]
  ])
  return routes
})
