import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import type { Option } from "effect"
import type { SpawnedProcess } from "./SpawnedProcess.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import type { ProcessRecord } from "./ProcessRecord.ts"

export interface RunningProcess {
  readonly instance: RunningInstance
  readonly directory: InstanceDirectory
  readonly pid: number
  readonly startMark: Option.Option<string>
  /** None for an adopted process, whose exit must be polled. */
  readonly child: Option.Option<SpawnedProcess>
  readonly logOffset: number
  /** None if the record is missing. */
  readonly startedWith: Option.Option<Pick<ProcessRecord, "uid" | "memoryMb" | "diskMb" | "diskAtStart">>
}
