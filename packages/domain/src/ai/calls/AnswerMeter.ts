import { Clock, Effect, Either, Scope } from "effect"
import type { ModelEvent, ProviderEnding } from "../streams/ModelEvent.ts"
import { estimateCost } from "../models/ModelCost.ts"
import { estimatePromptTokens } from "../prompt/TokenEstimate.ts"
import type { ChatRequest } from "./ChatRequest.ts"
import type { TokenUsage } from "../chat/ModelChat.ts"
import type { AnsweredCall } from "./CallFallback.ts"
import { countCall, countTokens, measureCall, makeUsageAttributes } from "./ModelTelemetry.ts"
import type { ModelUsage } from "./ModelUsage.ts"

const encoder = new TextEncoder()

export interface MeteredUsage {
  readonly usage: TokenUsage
  readonly usageIsEstimated: boolean
  /** US dollars, by the catalogue's prices. */
  readonly costUsd: number
}

export interface AnswerMeter {
  /** Counts a piece, which one fiber at a time hands on. */
  readonly add: (chunk: ModelEvent<ProviderEnding>) => void
  /** What was seen so far. */
  readonly usage: () => MeteredUsage
}

const bytesOf = (chunk: ModelEvent<ProviderEnding>): number => {
  switch (chunk.type) {
    case "delta":
      return encoder.encode(chunk.text).length
    case "tool-call":
      return encoder.encode(chunk.call.name + chunk.call.arguments).length
    case "done":
      return 0
  }
}

/**
 * Counts what an answer takes, and records it when the scope ends: once for each answer that began, whole or not, since
 * a provider charges for an answer that broke off or was interrupted too.
 */
export const meterAnswer = (
  { call, calledAt, span }: AnsweredCall,
  { caller, messages, options }: ChatRequest,
  usageRecord: ModelUsage["Type"]
): Effect.Effect<AnswerMeter, never, Scope.Scope> => {
  // Plain variables: an answer has hundreds of pieces, and an effect for each is most of what passing it on costs.
  let bytes = 0
  let toolCalls = 0
  let end: Extract<ModelEvent<ProviderEnding>, { type: "done" }> | null = null

  const costOf = ({ completionTokens, promptTokens }: TokenUsage) =>
    Either.getOrElse(estimateCost(call.model, { inputTokens: promptTokens, outputTokens: completionTokens }), () => 0)

  const usage = (): MeteredUsage => {
    if (end !== null && end.usage !== null) {
      return { usage: end.usage, usageIsEstimated: false, costUsd: costOf(end.usage) }
    }
    const promptTokens = estimatePromptTokens(messages, options?.tools)
    const completionTokens = Math.ceil(bytes / 4)
    const estimated = { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens }
    return { usage: estimated, usageIsEstimated: true, costUsd: costOf(estimated) }
  }

  const record = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const { costUsd, usage: used } = usage()
    if (span !== null) {
      const attributes = makeUsageAttributes(used, end?.finishReason ?? null, toolCalls)
      for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
    }
    countTokens(call, used)
    measureCall(call, now - calledAt)
    if (end !== null) countCall(call, "answered")
    return usageRecord.record({
      userId: caller.userId,
      agentId: caller.agentId,
      provider: call.provider,
      model: call.model.id,
      promptTokens: used.promptTokens,
      completionTokens: used.completionTokens,
      ownKey: call.keyId !== undefined,
      costUsd
    })
  }).pipe(
    // The answer is out; a record that cannot be written must not take it back.
    Effect.catchAllCause((cause) => Effect.logError("The usage of a model could not be recorded", cause))
  )

  return Effect.as(
    // `Effect.addFinalizer` would keep the state of this fiber for it, which costs more than to count.
    Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, record)),
    {
      usage,
      add: (chunk) => {
        bytes += bytesOf(chunk)
        if (chunk.type === "tool-call") toolCalls += 1
        if (chunk.type === "done") end = chunk
      }
    }
  )
}
