import type { Effect, Scope } from "effect"
import type { Amounts } from "./Amounts.ts"
import type { Storage } from "./berth/Storage.ts"
import type { Panel } from "./report/Chart.ts"
import type { Table } from "./report/Markdown.ts"

/** What a scenario has measured: for machines, and as people read it. */
export interface Findings {
  readonly figures: unknown
  readonly tables: ReadonlyArray<Table>
  readonly panels: ReadonlyArray<Panel>
}

export type Scenario = (amounts: Amounts) => Effect.Effect<Findings, Error, Storage | Scope.Scope>
