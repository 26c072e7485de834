import { rateRatio, type Standing } from "../measure/Rounds.ts"
import type { Panel } from "./Chart.ts"
import { figure } from "./Figure.ts"
import type { Table } from "./Markdown.ts"

/** Something of Berth's and what it is measured against. */
export interface Pair {
  readonly berth: Standing
  readonly baseline: Standing
  /** Berth's rate as a part of the baseline's. */
  readonly ratio: number
}

/** Standings in the order Berth, baseline, Berth, baseline. */
export const pairsOf = (standings: ReadonlyArray<Standing>): ReadonlyArray<Pair> =>
  standings.flatMap((berth, index) => {
    const baseline = standings[index + 1]
    return index % 2 === 1 || baseline === undefined ? [] : [{ berth, baseline, ratio: rateRatio(berth, baseline) }]
  })

const row = ({ connections, cpu, name, p50, p95, p99, rate }: Standing, ratio: string) => [
  name,
  String(connections),
  ...[rate, p50, p95, p99, cpu].map(figure),
  ratio
]

export const table = (title: string, pairs: ReadonlyArray<Pair>, baseline = "bare"): Table => ({
  title,
  columns: ["request", "connections", "per second", "p50 ms", "p95 ms", "p99 ms", "cpu ms", `rate to ${baseline}`],
  rows: pairs.flatMap((pair) => [row(pair.berth, figure(pair.ratio)), row(pair.baseline, "")]),
  note: "cpu: processor time of the answering process alone for one request. It moves least when the machine is busy."
})

export const panels = (title: string, pairs: ReadonlyArray<Pair>): ReadonlyArray<Panel> => [
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
