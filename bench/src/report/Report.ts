import { root } from "@berth/test/e2e/BerthProcess"
import { DateTime, Effect } from "effect"
import { mkdir, writeFile } from "node:fs/promises"
import { dirname, join, relative } from "node:path"
import type { Options, ScenarioName } from "../Options.ts"
import type { ScenarioResult } from "../Scenario.ts"
import { renderChart } from "./Chart.ts"
import { formatFigure } from "./Figure.ts"
import type { Machine } from "./Machine.ts"
import { renderMarkdown } from "./Markdown.ts"

export type Outcome = { readonly name: ScenarioName; readonly seconds: number } & (
  { readonly findings: ScenarioResult } | { readonly failure: string }
)

export interface Report {
  readonly startedAt: DateTime.Utc
  readonly options: Options
  readonly storage: string
  readonly machine: Machine
  readonly outcomes: ReadonlyArray<Outcome>
}

const findingsOf = ({ outcomes }: Report) =>
  outcomes.flatMap((outcome) => ("findings" in outcome ? [outcome.findings] : []))

const asJson = ({ machine, options, outcomes, startedAt, storage }: Report) => ({
  startedAt: DateTime.formatIso(startedAt),
  options,
  storage,
  machine,
  scenarios: outcomes.map((outcome) => ({
    name: outcome.name,
    seconds: outcome.seconds,
    ...("findings" in outcome ? { figures: outcome.findings.figures } : { failure: outcome.failure })
  }))
})

export const renderReport = (report: Report): string => {
  const { cores, cpu, loadBefore, node, platform, usableCores } = report.machine
  const pinning = usableCores < cores ? `everything pinned to ${usableCores} of them` : "nothing pinned"
  return [
    `${cores} cores (${cpu}), ${pinning}; ${platform}, Node ${node}; ${report.storage}; load before ${formatFigure(loadBefore)}`,
    "",
    ...findingsOf(report).flatMap(({ tables }) => tables.map(renderMarkdown)),
    ...report.outcomes.flatMap((outcome) =>
      "failure" in outcome ? [`${outcome.name} failed: ${outcome.failure}\n`] : []
    )
  ].join("\n")
}

/** Path of the results of a run, without an extension. */
export const makeResultsPath = (startedAt: DateTime.Utc): string =>
  join(root, "bench", "results", DateTime.formatIso(startedAt).replaceAll(":", "-").replace(/\.\d+/, ""))

/** Writes figures and chart to bench/results; returns their paths from the root. */
export const writeReport = (report: Report): Effect.Effect<ReadonlyArray<string>> =>
  Effect.promise(async () => {
    const base = makeResultsPath(report.startedAt)
    await mkdir(dirname(base), { recursive: true })
    const files: ReadonlyArray<readonly [string, string]> = [
      [`${base}.json`, `${JSON.stringify(asJson(report), null, 2)}\n`],
      [`${base}.svg`, renderChart(findingsOf(report).flatMap(({ panels }) => panels))]
    ]
    for (const [file, text] of files) await writeFile(file, text)
    return files.map(([file]) => relative(root, file))
  })
