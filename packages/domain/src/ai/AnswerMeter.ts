import { Clock, Effect, Either, Ref, type Scope } from "effect"
import { estimateCost } from "./EstimateCost.ts"
import { estimatePromptTokens } from "./EstimateTokens.ts"
import type { ChatRequest } from "./ChatRequest.ts"
import type { ChatChunk, TokenUsage } from "./ModelChat.ts"
import type { AnsweredCall } from "./ModelCalls.ts"
import { countCall, countTokens, measureCall, usageAttributes } from "./ModelTelemetry.ts"
import type { ModelUsage } from "./ModelUsage.ts"

const encoder = new TextEncoder()

export interface MeteredUsage {
  readonly usage: TokenUsage
  readonly usageIsEstimated: boolean
}

interface Seen {
  readonly bytes: number
  readonly counted: TokenUsage | null
  readonly ended: boolean
}

/**
 * Counts what an answer takes, and records it when the scope ends: once for each answer that began, whole or not, since
 * a provider charges for an answer that broke off or was interrupted too.
 */
export const meterAnswer = (
  answer: AnsweredCall,
  request: ChatRequest,
  usageRecord: ModelUsage["Type"]
): Effect.Effect<
  { readonly see: (chunk: ChatChunk) => Effect.Effect<void>; readonly usage: Effect.Effect<MeteredUsage> },
  never,
  Scope.Scope
> =>
  Effect.gen(function* () {
    const seen = yield* Ref.make<Seen>({ bytes: 0, counted: null, ended: false })
    const { call } = answer
    const metered = (state: Seen): MeteredUsage => {
      if (state.counted !== null) return { usage: state.counted, usageIsEstimated: false }
      const promptTokens = estimatePromptTokens(request.messages)
      const completionTokens = Math.ceil(state.bytes / 4)
      return {
        usage: { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens },
        usageIsEstimated: true
      }
    }
    const usage = Effect.map(Ref.get(seen), metered)

    yield* Effect.addFinalizer(() =>
      Effect.gen(function* () {
        const { usage: used } = yield* usage
        const { ended } = yield* Ref.get(seen)
        const now = yield* Clock.currentTimeMillis
        for (const [key, value] of Object.entries(usageAttributes(used))) answer.span.attribute(key, value)
        yield* countTokens(call, used)
        yield* measureCall(call, now - answer.calledAt)
        if (ended) yield* countCall(call, "answered")
        yield* usageRecord.record({
          userId: request.caller.userId,
          agentId: request.caller.agentId,
          provider: call.provider,
          model: call.model.id,
          promptTokens: used.promptTokens,
          completionTokens: used.completionTokens,
          costUsd: Either.getOrElse(
            estimateCost(call.model, { inputTokens: used.promptTokens, outputTokens: used.completionTokens }),
            () => 0
          )
        })
      }).pipe(
        // The answer is out; a record that cannot be written must not take it back.
        Effect.catchAllCause((cause) => Effect.logError("The usage of a model could not be recorded", cause))
      )
    )
    return {
      usage,
      see: (chunk) =>
        Ref.update(seen, (state) =>
          chunk.type === "end"
            ? { ...state, counted: chunk.usage, ended: true }
            : {
                ...state,
                bytes: state.bytes + encoder.encode(chunk.type === "text" ? chunk.text : chunk.call.arguments).length
              }
        )
    }
  })
