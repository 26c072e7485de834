import { Effect, Metric, type MetricKey, MetricKeyType, MetricState, Option } from "effect"
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

const isIncremental = ({ keyType }: MetricKey.MetricKey.Untyped) =>
  MetricKeyType.isCounterKey(keyType) && keyType.incremental

/** Adds the missing suffix to counters of the Effect runtime. */
const toConventionalName = (key: MetricKey.MetricKey.Untyped) =>
  isIncremental(key) && !key.name.endsWith("_total") ? `${key.name}_total` : key.name

const formatFamily = (name: string, { help, lines, type }: MetricFamily) =>
  `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${lines.join("\n")}\n`

/** Formats a gauge with a value from another source. */
export const formatGauge = (
  name: string,
  help: string,
  samples: ReadonlyArray<{ readonly labels?: Readonly<Record<string, string>>; readonly value: number }>
): string =>
  formatFamily(name, {
    type: "gauge",
    help,
    lines: samples.map(({ labels: sampleLabels = {}, value }) => {
      const tags = Object.entries(sampleLabels).map(([key, value]) => ({ key, value }))
      return `${name}${labels(tags)} ${value}`
    })
  })

/** Formats every metric of this process in the Prometheus text format 0.0.4. */
export const renderPrometheus = (): string => {
  const families = new Map<string, MetricFamily>()
  for (const { metricKey, metricState } of Metric.unsafeSnapshot()) {
    const { tags } = metricKey
    const name = toConventionalName(metricKey)
    const family = (type: string) => {
      const known = families.get(name) ?? {
        type,
        help: Option.getOrElse(metricKey.description, () => name),
        lines: []
      }
      families.set(name, known)
      return known.lines
    }
    if (MetricState.isCounterState(metricState))
      family(isIncremental(metricKey) ? "counter" : "gauge").push(`${name}${labels(tags)} ${metricState.count}`)
    else if (MetricState.isGaugeState(metricState)) family("gauge").push(`${name}${labels(tags)} ${metricState.value}`)
    else if (MetricState.isHistogramState(metricState)) {
      const lines = family("histogram")
      for (const [boundary, count] of metricState.buckets)
        lines.push(`${name}_bucket${labels(tags, `le="${boundary === Infinity ? "+Inf" : boundary}"`)} ${count}`)
      lines.push(`${name}_sum${labels(tags)} ${metricState.sum}`, `${name}_count${labels(tags)} ${metricState.count}`)
    }
  }
  return [...families].map(([name, family]) => formatFamily(name, family)).join("")
}

/** Returns the current figures of this process in that format. */
export const readPrometheus: Effect.Effect<string> = Effect.sync(() => {
  sampleProcess()
  return renderPrometheus()
})
