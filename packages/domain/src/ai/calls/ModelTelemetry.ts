import { Metric, MetricBoundaries, MetricKey, type MetricKeyType, MetricLabel } from "effect"
import type { ProviderName } from "../models/Model.ts"
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

const seconds = (from: number, count: number) => MetricBoundaries.exponential({ start: from, factor: 2, count })

const firstText = MetricKey.histogram(
  "berth_model_first_text_seconds",
  seconds(0.05, 12),
  "Time from the call of a model to its first text"
)

const duration = MetricKey.histogram(
  "berth_model_call_seconds",
  seconds(0.1, 14),
  "Time from the call of a model to the end of its answer"
)

/** Caches each labeled metric; `Metric.tagged` builds and looks it up at every update. */
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
const firstTextOf = labeled(firstText, "")
const durationOf = labeled(duration, "")

/** `outcome`: answered, or the kind of its failure. */
export const countCall = (call: CalledModel, outcome: string): void => callsBy(call, outcome).unsafeUpdate(1, [])

export const countTokens = (call: CalledModel, usage: TokenUsage): void => {
  tokensBy(call, "prompt").unsafeUpdate(usage.promptTokens, [])
  tokensBy(call, "completion").unsafeUpdate(usage.completionTokens, [])
}

export const measureFirstText = (call: CalledModel, millis: number): void =>
  firstTextOf(call, "").unsafeUpdate(millis / 1000, [])

export const measureCall = (call: CalledModel, millis: number): void =>
  durationOf(call, "").unsafeUpdate(millis / 1000, [])

// OpenTelemetry's provider names that differ.
const conventionalNames: { readonly [name in ProviderName]?: string } = { google: "gcp.gemini" }

/** The span of a call by OpenTelemetry's GenAI conventions. */
export const describeCallSpan = (call: PlannedCall, options: ChatOptions) => {
  const provider = conventionalNames[call.provider] ?? call.provider
  return {
    name: `chat ${call.model.id}`,
    options: {
      kind: "client" as const,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider,
        "gen_ai.system": provider,
        "gen_ai.request.model": parseModelName(call.model.id),
        "berth.model": call.model.id,
        "berth.own_key": call.keyId !== undefined,
        ...(options.tools === undefined || options.tools.length === 0
          ? {}
          : { "berth.tools.offered": options.tools.length }),
        ...(options.temperature === undefined ? {} : { "gen_ai.request.temperature": options.temperature }),
        ...(options.topP === undefined ? {} : { "gen_ai.request.top_p": options.topP }),
        ...(options.maxTokens === undefined ? {} : { "gen_ai.request.max_tokens": options.maxTokens })
      }
    }
  }
}

export const makeUsageAttributes = (
  usage: TokenUsage,
  finishReason: string | null,
  toolCalls: number
): Record<string, unknown> => ({
  "gen_ai.usage.input_tokens": usage.promptTokens,
  "gen_ai.usage.output_tokens": usage.completionTokens,
  ...(finishReason === null ? {} : { "gen_ai.response.finish_reasons": [finishReason] }),
  ...(toolCalls === 0 ? {} : { "berth.tools.called": toolCalls })
})
