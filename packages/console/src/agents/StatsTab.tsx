import { AreaChart } from "@mantine/charts"
import { Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { call } from "../api.ts"
import { formatClock } from "../format.ts"
import { Loaded, Notice, Section } from "../parts.tsx"
import { agentPath } from "../queries.ts"
import { texts } from "../texts.ts"
import type { StatsJson } from "../wire.ts"
import type { AgentTab } from "./AgentTab.ts"

const pollMs = 3_000
const samplesKept = 100

interface Sample {
  readonly time: string
  readonly cpu: number | null
  readonly memory: number | null
}

const readNumber = (figure: string) => {
  const value = Number.parseFloat(figure)
  return Number.isFinite(value) ? value : null
}

const Figure = ({ label, value }: { readonly label: string; readonly value: string }) => (
  <div className="figure">
    <dt>{label}</dt>
    <dd>{value}</dd>
  </div>
)

/** Figures of the instance since the page was opened, and of the agent's messages. */
const StatsTab = ({ agent: { id } }: AgentTab) => {
  const [samples, setSamples] = useState<ReadonlyArray<Sample>>([])
  const query = useQuery({
    queryKey: ["agent", id, "stats"],
    queryFn: ({ signal }) => call<StatsJson>("GET", agentPath(id, "/stats"), { signal }),
    refetchInterval: pollMs
  })
  const { data, dataUpdatedAt } = query
  useEffect(() => {
    if (data === undefined || !("cpu" in data.stats)) return
    const { cpu, memoryPercent } = data.stats
    const sample = { time: formatClock(dataUpdatedAt), cpu: readNumber(cpu), memory: readNumber(memoryPercent) }
    setSamples((before) => [...before, sample].slice(-samplesKept))
  }, [data, dataUpdatedAt])
  return (
    <Loaded query={query}>
      {({ stats }) => (
        <>
          {!("cpu" in stats) && <Notice tone="busy">{texts.stats.stored}</Notice>}
          <dl className="figures">
            {"cpu" in stats && (
              <>
                <Figure label={texts.stats.cpu} value={stats.cpu} />
                <Figure label={texts.stats.memory} value={stats.memory} />
                <Figure label={texts.stats.network} value={stats.network} />
                <Figure label={texts.stats.uptime} value={stats.uptimeFormatted} />
              </>
            )}
            <Figure label={texts.stats.messages} value={String(stats.messagesProcessed)} />
            <Figure label={texts.stats.perHour} value={String(stats.messagesPerHour)} />
            <Figure label={texts.stats.response} value={texts.stats.milliseconds(String(stats.averageResponseTime))} />
            <Figure label={texts.stats.success} value={stats.successRate} />
          </dl>
          {"cpu" in stats && (
            <Section title={texts.stats.chart} lead={texts.stats.chartLead}>
              {samples.length < 2 ? (
                <Text c="dimmed" fz="sm">
                  {texts.stats.collecting}
                </Text>
              ) : (
                <AreaChart
                  h={240}
                  data={[...samples]}
                  dataKey="time"
                  unit="%"
                  withDots={false}
                  withLegend
                  curveType="monotone"
                  fillOpacity={0.15}
                  areaChartProps={{ accessibilityLayer: false }}
                  series={[
                    { name: "cpu", label: texts.stats.cpu, color: "harbor.5" },
                    { name: "memory", label: texts.stats.memory, color: "orange.6" }
                  ]}
                />
              )}
            </Section>
          )}
        </>
      )}
    </Loaded>
  )
}

export default StatsTab
