import { BackendApi } from "@berth/api/BackendApi"
import { RateLimitExceededBody } from "@berth/api/limits/RateLimits"
import { type RuntimeModelEvent, runtimeModelPath, RuntimeModelRequest } from "@berth/api/runtime/RuntimeContract"
import { RuntimeOwner, TurnBudgetExhaustedBody, TurnNotInProgressBody } from "@berth/api/runtime/RuntimeModelApi"
import { isPlainRuntimeRequest } from "@berth/api/runtime/RuntimeRequestFastPath"
import type { ChatError } from "@berth/domain/ai/calls/ModelChatCalls"
import type { ChunkReader } from "@berth/domain/ai/streams/ChunkReader"
import { Instances } from "@berth/domain/instances/Instances"
import type { TurnNotInProgress } from "@berth/domain/interaction/turns/TurnErrors"
import { type TurnModelEvent, TurnModelCalls } from "@berth/domain/interaction/turns/TurnModelCalls"
import { Caller } from "@berth/domain/sessions/Caller"
import { useService } from "@berth/domain/shared/HotPath"
import type { UserId } from "@berth/domain/shared/UserId"
import { HttpServerRequest, type HttpServerResponse } from "@effect/platform"
import { Effect, Option, Schema, type Scope } from "effect"
import { group } from "../http/ApiGroup.ts"
import type { DirectRoutes, RequestHandler } from "../http/DirectRoutes.ts"
import { makeErrorResponse } from "../http/ErrorResponse.ts"
import { readBearerToken } from "../http/InternalAuthHttp.ts"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { respondEvents } from "../http/SseResponse.ts"

const RefusalBody = Schema.Union(RateLimitExceededBody, TurnBudgetExhaustedBody, TurnNotInProgressBody)
type Refusal = typeof RefusalBody.Type

const describeFailure = (failure: ChatError | TurnNotInProgress): string =>
  failure._tag === "TurnNotInProgress" ? "the turn has ended" : failure.message

const failReading = (failure: ChatError) => Effect.succeed(Effect.fail(failure))

const answerCall =
  (calls: TurnModelCalls) =>
  (
    userId: UserId,
    payload: RuntimeModelRequest
  ): Effect.Effect<HttpServerResponse.HttpServerResponse, Refusal, Scope.Scope> =>
    calls
      .open(
        { userId, agentId: payload.agentId, turnId: payload.messageId },
        {
          messages: payload.messages,
          model: payload.model,
          conversation: payload.conversation,
          options: {
            temperature: payload.temperature ?? undefined,
            maxTokens: payload.maxTokens ?? undefined,
            tools: payload.tools
          }
        }
      )
      .pipe(
        Effect.catchTags({
          MessagesMissing: failReading,
          ModelNotFound: failReading,
          ModelsUnavailable: failReading,
          ProviderFailed: failReading
        }),
        Effect.map((read: ChunkReader<TurnModelEvent, ChatError | TurnNotInProgress>) =>
          respondEvents<RuntimeModelEvent, ChatError | TurnNotInProgress>(Effect.succeed(read), (failure) =>
            Effect.succeed({ type: "error", message: describeFailure(failure) })
          )
        ),
        Effect.tapErrorTag("RateLimitExceeded", addRetryAfter)
      )

/** AI layer for runtimes: model calls of turns in progress, charged to the instance's owner. */
export const layer = group(BackendApi, "runtimeModel", (handlers) =>
  Effect.map(TurnModelCalls, (calls) => {
    const answer = answerCall(calls)
    return handlers.handle("complete", ({ payload }) => Effect.flatMap(RuntimeOwner, (owner) => answer(owner, payload)))
  })
)

const readRequest = Schema.decodeUnknownOption(RuntimeModelRequest)

/** Hot path: model calls bypass their contract, which handles only forbidden or invalid requests. */
export const makeRuntimeDirectRoutes = Effect.gen(function* () {
  const answer = answerCall(yield* TurnModelCalls)
  const instances = yield* Instances
  const answerDirectly = (owner: UserId, payload: RuntimeModelRequest) =>
    Effect.zipRight(
      useService(Caller, ({ identify }) => identify(owner)),
      Effect.catchAll(answer(owner, payload), (refusal) => Effect.succeed(makeErrorResponse(RefusalBody, refusal)))
    )
  const direct = (contract: RequestHandler): RequestHandler =>
    useService(HttpServerRequest.HttpServerRequest, (request) =>
      Option.match(readBearerToken(request), {
        onNone: () => contract,
        onSome: (token) =>
          Effect.flatMap(instances.findOwnerByRuntimeToken(token), (owner) =>
            Option.isNone(owner)
              ? contract
              : Effect.matchCauseEffect(request.json, {
                  onFailure: () => contract,
                  onSuccess: (json) =>
                    Option.match(isPlainRuntimeRequest(json) ? Option.some(json) : readRequest(json), {
                      onNone: () => contract,
                      onSome: (payload) => answerDirectly(owner.value, payload)
                    })
                })
          )
      })
    )
  const routes: DirectRoutes = new Map([[`POST ${runtimeModelPath}`, direct]])
  return routes
})
