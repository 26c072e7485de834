import { AreaChart } from "@mantine/charts"
import { Text } from "@mantine/core"
import { useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { call } from "../api.ts"
import { formatElapsed, formatNumber } from "../format.ts"
import { Empty, Figure, Loaded, Notice, Section } from "../parts.tsx"
import { agentPath, storageQuery } from "../queries.ts"
import { texts } from "../texts.ts"
import { describeStorage } from "../usage/storage.ts"
import type { StatsJson } from "../wire.ts"
import type { AgentTab } from "./AgentTab.ts"
import { appendSample, type Sample, sampleMs } from "./samples.ts"

const readNumber = (figure: string) => {
  const value = Number.parseFloat(figure)
  return Number.isFinite(value) ? value : null
}

/** Adds a space before bytes and rounds to one decimal. */
const formatFigure = (figure: string) =>
  figure === "N/A"
    ? texts.stats.unknown
    : figure.replace(
        /([\d.]+)(%|[KMGT]?i?B\b)/g,
        (_, value, unit) => `${Number(Number(value).toFixed(1))}${unit === "%" ? "" : " "}${unit}`
      )

type Stats = StatsJson["stats"]

/** "N/A" before the first message. */
const countMessages = ({ messagesProcessed }: Stats) => readNumber(String(messagesProcessed)) ?? 0

const formatAnswerTime = ({ averageResponseTime }: Stats) => {
  const milliseconds = readNumber(String(averageResponseTime))
  return milliseconds === null ? texts.stats.unknown : formatElapsed(milliseconds)
}

/** Statistics of the instance since the page was opened, and of the agent's messages. */
const StatsTab = ({ agent: { id } }: AgentTab) => {
  const [samples, setSamples] = useState<ReadonlyArray<Sample>>([])
  const query = useQuery({
    queryKey: ["agent", id, "stats"],
    queryFn: ({ signal }) => call<StatsJson>("GET", agentPath(id, "/stats"), { signal }),
    refetchInterval: sampleMs
  })
  const { data: storage } = useQuery(storageQuery)
  const used = storage === undefined ? null : describeStorage(storage)
  const { data, dataUpdatedAt } = query
  useEffect(() => {
    if (data === undefined || !("cpu" in data.stats)) return
    const { cpu, memoryPercent } = data.stats
    const sample = { at: dataUpdatedAt, cpu: readNumber(cpu), memory: readNumber(memoryPercent) }
    setSamples((before) => appendSample(before, sample))
  }, [data, dataUpdatedAt])
  return (
    <Loaded query={query}>
      {({ stats }) => (
        <>
          {!("cpu" in stats) && <Notice tone="busy">{texts.stats.stored}</Notice>}
          <dl className="figures">
            {"cpu" in stats && (
              <>
                <Figure label={texts.stats.cpu} value={formatFigure(stats.cpu)} hint={texts.stats.cpuHint} />
                <Figure
                  label={texts.stats.memory}
                  value={formatFigure(stats.memory).replace("/", "of")}
                  hint={texts.stats.memoryHint}
                />
                <Figure
                  label={texts.stats.network}
                  value={formatFigure(stats.network)}
                  hint={texts.stats.networkHint}
                />
                <Figure
                  label={texts.stats.storage}
                  value={used ?? texts.stats.unknown}
                  hint={texts.stats.storageHint}
                />
                <Figure
                  label={texts.stats.uptime}
                  value={stats.uptime === 0 ? texts.stats.unknown : stats.uptimeFormatted}
                />
              </>
            )}
            {countMessages(stats) === 0 ? (
              <Figure label={texts.stats.messages} value="0" hint={texts.stats.noMessages} />
            ) : (
              <>
                <Figure
                  label={texts.stats.messages}
                  value={formatNumber(countMessages(stats))}
                  hint={texts.stats.lastHour(Number(stats.messagesPerHour))}
                />
                <Figure label={texts.stats.response} value={formatAnswerTime(stats)} />
                <Figure label={texts.stats.success} value={formatFigure(stats.successRate)} />
              </>
            )}
          </dl>
          {"cpu" in stats && (
            <Section title={texts.stats.chart} lead={texts.stats.chartLead}>
              {stats.uptime === 0 ? (
                <Empty title={texts.stats.down}>{texts.stats.downHint}</Empty>
              ) : samples.length < 2 ? (
                <Text c="dimmed" fz="sm" h={240}>
                  {texts.stats.collecting}
                </Text>
              ) : (
                <AreaChart
                  h={240}
                  data={[...samples]}
                  dataKey="time"
                  yAxisProps={{ allowDecimals: false, tickFormatter: (percent: number) => `${percent}%` }}
                  valueFormatter={(percent) => `${percent.toFixed(1)}%`}
                  withDots={false}
                  connectNulls={false}
                  withLegend
                  curveType="monotone"
                  fillOpacity={0.15}
                  areaChartProps={{ accessibilityLayer: false }}
                  series={[
                    { name: "cpu", label: texts.stats.cpuSeries, color: "harbor.5" },
                    { name: "memory", label: texts.stats.memorySeries, color: "orange.6" }
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
