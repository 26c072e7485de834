import type { Effect, Scope } from "effect"
import type { RunSize } from "./RunSize.ts"
import type { Storage } from "./berth/Storage.ts"
import type { ChartPanel } from "./report/Chart.ts"
import type { MarkdownTable } from "./report/Markdown.ts"

/** Results of a scenario: figures for programs, tables and panels for readers. */
export interface ScenarioResult {
  readonly figures: unknown
  readonly tables: ReadonlyArray<MarkdownTable>
  readonly panels: ReadonlyArray<ChartPanel>
}

export type Scenario = (amounts: RunSize) => Effect.Effect<ScenarioResult, Error, Storage | Scope.Scope>
