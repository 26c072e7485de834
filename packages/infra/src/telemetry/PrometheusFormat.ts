import { Effect, Metric, MetricState, Option } from "effect"
import { sampleProcess } from "./ProcessMetrics.ts"

interface MetricFamily {
  readonly type: string
  readonly help: string
  readonly lines: Array<string>
}

const escapeLabel = (value: string) => value.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")

const escapeHelp = (text: string) => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")

const labels = (tags: ReadonlyArray<{ readonly key: string; readonly value: string }>, extra: string = "") => {
  const all = [...tags.map(({ key, value }) => `${key}="${escapeLabel(value)}"`), ...(extra === "" ? [] : [extra])]
  return all.length === 0 ? "" : `{${all.join(",")}}`
}

/** Formats every metric of this process in the Prometheus text format 0.0.4. */
export const renderPrometheus = (): string => {
  const families = new Map<string, MetricFamily>()
  for (const { metricKey, metricState } of Metric.unsafeSnapshot()) {
    const { name, tags } = metricKey
    const family = (type: string) => {
      const known = families.get(name) ?? {
        type,
        help: Option.getOrElse(metricKey.description, () => name),
        lines: []
      }
      families.set(name, known)
      return known.lines
    }
    if (MetricState.isCounterState(metricState)) family("counter").push(`${name}${labels(tags)} ${metricState.count}`)
    else if (MetricState.isGaugeState(metricState)) family("gauge").push(`${name}${labels(tags)} ${metricState.value}`)
    else if (MetricState.isHistogramState(metricState)) {
      const lines = family("histogram")
      for (const [boundary, count] of metricState.buckets)
        lines.push(`${name}_bucket${labels(tags, `le="${boundary === Infinity ? "+Inf" : boundary}"`)} ${count}`)
      lines.push(`${name}_sum${labels(tags)} ${metricState.sum}`, `${name}_count${labels(tags)} ${metricState.count}`)
    }
  }
  return [...families]
    .map(
      ([name, { help, lines, type }]) =>
        `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${lines.join("\n")}\n`
    )
    .join("")
}

/** The figures of this process as they are now, in that format. */
export const readPrometheus: Effect.Effect<string> = Effect.sync(() => {
  sampleProcess()
  return renderPrometheus()
})
