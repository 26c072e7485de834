import type { Cell } from "@berth/domain/instances/InstanceDriver"
import type { Option } from "effect"
import type { CellChild } from "./CellChild.ts"
import type { CellPlace } from "./CellPlace.ts"
import type { CellRecord } from "./CellRecord.ts"

/** A cell that the driver knows to be up. */
export interface Tenant {
  readonly cell: Cell
  readonly place: CellPlace
  readonly pid: number
  readonly began: Option.Option<string>
  /** None for a cell that an earlier backend started: its end must be looked for. */
  readonly child: Option.Option<CellChild>
  readonly logFrom: number
  /** None where the record is missing. */
  readonly startedWith: Option.Option<Pick<CellRecord, "memoryMb" | "diskMb" | "diskAtStart">>
}
