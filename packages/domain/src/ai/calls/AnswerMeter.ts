import { Effect, Either, type Tracer } from "effect"
import type { TokenUsage } from "../chat/ModelChat.ts"
import type { ProviderFailed } from "../models/ModelErrors.ts"
import { estimateCost } from "../models/ModelCost.ts"
import { estimatePromptTokens, estimateTokens } from "../prompt/TokenEstimate.ts"
import type { ModelEvent, ProviderEnding } from "../streams/ModelEvent.ts"
import type { PlannedCall } from "./CallPlan.ts"
import type { ChatRequest } from "./ChatRequest.ts"
import { countCall, countUsage, makeUsageAttributes, measureCall } from "./ModelTelemetry.ts"
import type { ModelUsage } from "./ModelUsage.ts"

interface MeteredUsage {
  readonly usage: TokenUsage
  readonly usageIsEstimated: boolean
  /** US dollars, by the catalog's prices. */
  readonly costUsd: number
}

export interface AnswerMeter {
  /** Adds an event. Not safe for concurrent use. */
  readonly add: (event: ModelEvent<ProviderEnding>) => void
  /** Sets the kind of failure that ended the answer. */
  readonly fail: (kind: ProviderFailed["kind"]) => void
  /** The usage so far. */
  readonly usage: () => MeteredUsage
  /** Records the answer, even if it failed or was interrupted. */
  readonly finish: Effect.Effect<void>
}

/** A call whose request has reached its provider. */
export interface SentCall {
  readonly call: PlannedCall
  /** Epoch milliseconds. */
  readonly calledAt: number
  /** Null where no spans are exported. */
  readonly span: Tracer.Span | null
}

const costOf = ({ model }: PlannedCall, { completionTokens, promptTokens }: TokenUsage) =>
  Either.getOrElse(estimateCost(model, { inputTokens: promptTokens, outputTokens: completionTokens }), () => 0)

const estimateUsage = ({ messages, options }: Pick<ChatRequest, "messages" | "options">, text: string): TokenUsage => {
  const promptTokens = estimatePromptTokens(messages, options?.tools)
  const completionTokens = estimateTokens(text)
  return { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens }
}

const recordUsage = (
  { call, calledAt }: SentCall,
  caller: ChatRequest["caller"],
  { costUsd, usage }: Omit<MeteredUsage, "usageIsEstimated">,
  record: ModelUsage["Type"],
  failure?: ProviderFailed["kind"]
) =>
  Effect.clockWith((clock) => {
    countUsage(call, usage, costUsd)
    measureCall(call, "chat", clock.unsafeCurrentTimeMillis() - calledAt, failure)
    return record.record({
      userId: caller.userId,
      agentId: caller.agentId,
      provider: call.provider,
      model: call.model.id,
      promptTokens: usage.promptTokens,
      completionTokens: usage.completionTokens,
      ownKey: call.keyId !== undefined,
      costUsd
    })
  }).pipe(
    // The answer is already sent, so a failure to record it must not fail the call.
    Effect.catchAllCause((cause) => Effect.logError("Model usage not recorded", cause))
  )

/** Records a call that was interrupted before its first text; the provider charges for its prompt. */
export const recordAbandonedCall = (sent: SentCall, request: ChatRequest, record: ModelUsage["Type"]) =>
  Effect.suspend(() => {
    const usage = estimateUsage(request, "")
    return recordUsage(sent, request.caller, { usage, costUsd: costOf(sent.call, usage) }, record)
  })

export const meterAnswer = (sent: SentCall, request: ChatRequest, record: ModelUsage["Type"]): AnswerMeter => {
  const { call, span } = sent
  // Plain variables: one Effect per delta would be most of the cost of forwarding an answer.
  const texts: Array<string> = []
  let toolCalls = 0
  let end: Extract<ModelEvent<ProviderEnding>, { type: "done" }> | null = null
  let failure: ProviderFailed["kind"] | undefined

  const usage = (): MeteredUsage => {
    const reported = end === null ? null : end.usage
    const used = reported ?? estimateUsage(request, texts.join(""))
    return { usage: used, usageIsEstimated: reported === null, costUsd: costOf(call, used) }
  }

  const finish = Effect.suspend(() => {
    const metered = usage()
    if (span !== null) {
      const attributes = makeUsageAttributes({ ...metered, call, end, toolCalls }, request)
      for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
    }
    if (end !== null) countCall(call, "answered")
    return recordUsage(sent, request.caller, metered, record, failure)
  })

  return {
    usage,
    finish,
    fail: (kind) => {
      failure = kind
    },
    add: (event) => {
      if (event.type === "delta") texts.push(event.text)
      else if (event.type === "done") end = event
      else {
        texts.push(event.call.name, event.call.arguments)
        toolCalls += 1
      }
    }
  }
}
