import { BackendApi } from "@berth/api/BackendApi"
import type { RuntimeModelEvent } from "@berth/api/runtime/RuntimeContract"
import { RuntimeOwner } from "@berth/api/runtime/RuntimeModelApi"
import type { ChatError } from "@berth/domain/ai/calls/ModelChatCalls"
import type { ChunkReader } from "@berth/domain/ai/streams/ChunkReader"
import type { TurnNotInProgress } from "@berth/domain/interaction/turns/TurnErrors"
import { type TurnModelEvent, TurnModelCalls } from "@berth/domain/interaction/turns/TurnModelCalls"
import { HttpApiBuilder } from "@effect/platform"
import { Effect } from "effect"
import { addRetryAfter } from "../http/ResponseHeaders.ts"
import { respondEvents } from "../http/SseResponse.ts"

const describeFailure = (failure: ChatError | TurnNotInProgress): string =>
  failure._tag === "TurnNotInProgress" ? "the turn has ended" : failure.message

const failReading = (failure: ChatError) => Effect.succeed(Effect.fail(failure))

/** The AI layer for runtimes: model calls of turns in progress, charged to the instance's owner. */
export const layer = HttpApiBuilder.group(BackendApi, "runtimeModel", (handlers) =>
  Effect.map(TurnModelCalls, (calls) =>
    handlers.handle("complete", ({ payload }) =>
      Effect.gen(function* () {
        const turn = { userId: yield* RuntimeOwner, agentId: payload.agentId, turnId: payload.messageId }
        const opened = calls.open(turn, {
          messages: payload.messages,
          model: payload.model,
          conversation: payload.conversation,
          options: {
            temperature: payload.temperature ?? undefined,
            maxTokens: payload.maxTokens ?? undefined,
            tools: payload.tools
          }
        })
        const read: ChunkReader<TurnModelEvent, ChatError | TurnNotInProgress> = yield* Effect.catchTags(opened, {
          MessagesMissing: failReading,
          ModelNotFound: failReading,
          ModelsUnavailable: failReading,
          ProviderFailed: failReading
        })
        return respondEvents<RuntimeModelEvent, ChatError | TurnNotInProgress>(Effect.succeed(read), (failure) =>
          Effect.succeed({ type: "error", message: describeFailure(failure) })
        )
      }).pipe(Effect.tapErrorTag("RateLimitExceeded", addRetryAfter))
    )
  )
)
