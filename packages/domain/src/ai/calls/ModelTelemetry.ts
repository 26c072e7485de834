import { Metric, MetricBoundaries, MetricKey, type MetricKeyType, MetricLabel } from "effect"
import type { ChatRequest } from "./ChatRequest.ts"
import type { ProviderName } from "../models/Model.ts"
import type { ProviderEnding } from "../streams/ModelEvent.ts"
import type { ChatOptions, TokenUsage } from "../chat/ModelChat.ts"
import { parseModelName } from "../models/ModelRoutes.ts"
import type { CalledModel, PlannedCall } from "./CallPlan.ts"

const calls = MetricKey.counter("berth_model_calls_total", {
  description: "Calls of models, by provider, model and outcome",
  incremental: true
})

const tokens = MetricKey.counter("berth_model_tokens_total", {
  description: "Tokens that models took in (prompt) and gave out (completion)",
  incremental: true
})

const costs = MetricKey.counter("berth_model_cost_usd_total", {
  description: "Cost of model calls in US dollars by the catalog's prices; own keys are not charged",
  incremental: true
})

const seconds = (from: number, count: number) => MetricBoundaries.exponential({ start: from, factor: 2, count })

const firstText = MetricKey.histogram(
  "berth_model_first_text_seconds",
  seconds(0.05, 12),
  "Time from the call of a model to its first text"
)

const duration = MetricKey.histogram(
  "berth_model_call_seconds",
  // The boundaries of OpenTelemetry's `gen_ai.client.operation.duration`.
  seconds(0.01, 15),
  "Time from the call of a model to the end of its answer or to its failure"
)

/** Caches each labeled metric; `Metric.tagged` would rebuild it at every update. */
const labeled = <Type extends MetricKeyType.MetricKeyType<number, unknown>>(
  metric: MetricKey.MetricKey<Type>,
  label: string
) => {
  const made = new Map<
    string,
    Metric.Metric<Type, MetricKeyType.MetricKeyType.InType<Type>, MetricKeyType.MetricKeyType.OutType<Type>>
  >()
  return ({ model, provider }: CalledModel, value: string) => {
    const key = `${provider} ${model.id} ${value}`
    const known =
      made.get(key) ??
      Metric.fromMetricKey(
        MetricKey.taggedWithLabels(metric, [
          MetricLabel.make("provider", provider),
          MetricLabel.make("model", model.id),
          ...(value === "" ? [] : [MetricLabel.make(label, value)])
        ])
      )
    made.set(key, known)
    return known
  }
}

const callsBy = labeled(calls, "outcome")
const tokensBy = labeled(tokens, "direction")
const costsBy = labeled(costs, "key")
const firstTextOf = labeled(firstText, "")

/** Names of OpenTelemetry's GenAI conventions. Speech is `generate_content`. */
type Operation = "chat" | "embeddings" | "generate_content"

const durationOf = (operation: Operation) => labeled(MetricKey.tagged(duration, "operation", operation), "error")
const durations: Readonly<Record<Operation, ReturnType<typeof durationOf>>> = {
  chat: durationOf("chat"),
  embeddings: durationOf("embeddings"),
  generate_content: durationOf("generate_content")
}

/** `outcome`: `answered`, or the kind of failure. */
export const countCall = (call: CalledModel, outcome: string): void => callsBy(call, outcome).unsafeUpdate(1, [])

export const countUsage = (call: CalledModel, usage: TokenUsage, costUsd: number): void => {
  costsBy(call, call.keyId === undefined ? "platform" : "own").unsafeUpdate(costUsd, [])
  tokensBy(call, "prompt").unsafeUpdate(usage.promptTokens, [])
  tokensBy(call, "completion").unsafeUpdate(usage.completionTokens, [])
}

export const measureFirstText = (call: CalledModel, millis: number): void =>
  firstTextOf(call, "").unsafeUpdate(millis / 1000, [])

/** `error`: the kind of failure that ended the call. */
export const measureCall = (call: CalledModel, operation: Operation, millis: number, error = ""): void =>
  durations[operation](call, error).unsafeUpdate(millis / 1000, [])

// Names of providers in OpenTelemetry where they differ.
const conventionalNames: ReadonlyMap<string, string> = new Map<ProviderName, string>([["google", "gcp.gemini"]])

/** Returns the name of a provider in OpenTelemetry's GenAI conventions. */
export const nameProvider = (provider: string): string => conventionalNames.get(provider) ?? provider

/** Attributes of the span of a call, by OpenTelemetry's GenAI conventions. */
export const describeCallSpan = (call: PlannedCall, options: ChatOptions) => {
  const provider = nameProvider(call.provider)
  return {
    name: `chat ${parseModelName(call.model.id)}`,
    options: {
      kind: "client" as const,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.request.model": parseModelName(call.model.id),
        "berth.model": call.model.id,
        "berth.own_key": call.keyId !== undefined,
        ...(options.tools === undefined || options.tools.length === 0
          ? {}
          : { "berth.tools.offered": options.tools.length }),
        ...(options.temperature === undefined ? {} : { "gen_ai.request.temperature": options.temperature }),
        ...(options.topP === undefined ? {} : { "gen_ai.request.top_p": options.topP }),
        ...(options.maxTokens === undefined ? {} : { "gen_ai.request.max_tokens": options.maxTokens }),
        ...(options.seed === undefined ? {} : { "gen_ai.request.seed": options.seed }),
        ...(options.stop === undefined ? {} : { "gen_ai.request.stop_sequences": options.stop }),
        ...(options.frequencyPenalty === undefined
          ? {}
          : { "gen_ai.request.frequency_penalty": options.frequencyPenalty }),
        ...(options.presencePenalty === undefined
          ? {}
          : { "gen_ai.request.presence_penalty": options.presencePenalty }),
        ...(options.responseFormat === undefined ? {} : { "gen_ai.output.type": "json" })
      }
    }
  }
}

export const makeUsageAttributes = (
  {
    call,
    costUsd,
    end,
    toolCalls,
    usage
  }: {
    readonly call: CalledModel
    readonly costUsd: number
    readonly usage: TokenUsage
    readonly end: ProviderEnding | null
    readonly toolCalls: number
  },
  { caller: { agentId }, conversation }: Pick<ChatRequest, "caller" | "conversation">
): Record<string, unknown> => ({
  // An answer that broke off has not named its model.
  ...(end === null ? {} : { "gen_ai.response.model": end.responseModel ?? parseModelName(call.model.id) }),
  ...(end?.responseId === undefined ? {} : { "gen_ai.response.id": end.responseId }),
  ...(agentId === null ? {} : { "gen_ai.agent.id": agentId }),
  ...(conversation === undefined
    ? {}
    : { "gen_ai.agent.name": conversation.agentName, "gen_ai.conversation.id": conversation.id }),
  "gen_ai.usage.input_tokens": usage.promptTokens,
  "gen_ai.usage.output_tokens": usage.completionTokens,
  "berth.cost.usd": costUsd,
  ...(end === null || end.finishReason === null ? {} : { "gen_ai.response.finish_reasons": [end.finishReason] }),
  ...(toolCalls === 0 ? {} : { "berth.tools.called": toolCalls })
})
