import { rateRatio, type ContestantResult } from "../measure/Rounds.ts"
import type { ChartPanel } from "./Chart.ts"
import { formatFigure } from "./Figure.ts"
import type { MarkdownTable } from "./Markdown.ts"

/** A measurement of Berth and its baseline. */
interface ComparisonPair {
  readonly berth: ContestantResult
  readonly baseline: ContestantResult
  /** Berth's rate divided by the baseline's. */
  readonly ratio: number
}

/** Standings in the order Berth, baseline, Berth, baseline. */
export const pairResults = (standings: ReadonlyArray<ContestantResult>): ReadonlyArray<ComparisonPair> =>
  standings.flatMap((berth, index) => {
    const baseline = standings[index + 1]
    return index % 2 === 1 || baseline === undefined ? [] : [{ berth, baseline, ratio: rateRatio(berth, baseline) }]
  })

const row = ({ connections, cpu, name, p50, p95, p99, rate }: ContestantResult, ratio: string) => [
  name,
  String(connections),
  ...[rate, p50, p95, p99, cpu].map(formatFigure),
  ratio
]

export const comparisonTable = (
  title: string,
  pairs: ReadonlyArray<ComparisonPair>,
  baseline = "bare"
): MarkdownTable => ({
  title,
  columns: ["request", "connections", "per second", "p50 ms", "p95 ms", "p99 ms", "cpu ms", `rate to ${baseline}`],
  rows: pairs.flatMap((pair) => [row(pair.berth, formatFigure(pair.ratio)), row(pair.baseline, "")]),
  note: "cpu: processor time of the answering process per request; the figure that other load distorts least."
})

export const comparisonPanels = (title: string, pairs: ReadonlyArray<ComparisonPair>): ReadonlyArray<ChartPanel> => [
  {
    title: `${title}: answers per second`,
    unit: "/s",
    bars: pairs.flatMap(({ baseline, berth }) =>
      [berth, baseline].map(({ connections, name, rate }) => ({
        label: `${name}, ${connections} conn.`,
        value: rate,
        isBaseline: name === baseline.name
      }))
    )
  }
]
