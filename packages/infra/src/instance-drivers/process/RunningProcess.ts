import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import type { Option } from "effect"
import type { SpawnedProcess } from "./SpawnedProcess.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import type { ProcessRecord } from "./ProcessRecord.ts"

/** A cell that the driver knows to be up. */
export interface RunningProcess {
  readonly instance: RunningInstance
  readonly directory: InstanceDirectory
  readonly pid: number
  readonly startMark: Option.Option<string>
  /** None for a cell that an earlier backend started: its end must be looked for. */
  readonly child: Option.Option<SpawnedProcess>
  readonly logOffset: number
  /** None where the record is missing. */
  readonly startedWith: Option.Option<Pick<ProcessRecord, "memoryMb" | "diskMb" | "diskAtStart">>
}
