import type { RuntimeAddress, RuntimeHealth } from "@berth/api/runtime/RuntimeContract"
import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import { DateTime, Effect, Option, Redacted } from "effect"
import { isProcessAlive, matchProcess, type ProcessMatch, readCommandLine } from "../../process/ProcessIdentity.ts"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import { makeSocketEndpoint } from "../../runtime/UnixSocketClient.ts"
import { type HealthProbeResult, probeHealth } from "../HealthProbe.ts"
import type { InstanceFindings } from "./StartDecision.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import * as ProcessRecord from "./ProcessRecord.ts"
import type { FileOperationFailed } from "../HostFiles.ts"
import { makeWriteFlag } from "../NodeFlags.ts"
import type { UserId } from "@berth/domain/shared/UserId"

export interface InstanceProbe extends InstanceFindings {
  /** None if the process has ended or another process has its pid. */
  readonly pid: Option.Option<number>
  readonly record: Option.Option<ProcessRecord.ProcessRecord>
  readonly address: Option.Option<RuntimeAddress>
}

export const toRunningInstance = (
  owner: UserId,
  { socket }: InstanceDirectory,
  { runtimeVersion, startedAt }: Pick<RuntimeHealth, "runtimeVersion" | "startedAt">
): RunningInstance => ({
  owner,
  endpoint: makeSocketEndpoint(socket),
  startedAt: DateTime.unsafeMake(startedAt),
  runtimeVersion
})

/** The instance writes the address file, so a process is accepted only with the directory on its command line. */
const matchUnrecordedProcess = ({ home }: InstanceDirectory, { pid }: RuntimeAddress): ProcessMatch => {
  if (!isProcessAlive(pid)) return "gone"
  return readCommandLine(pid).includes(makeWriteFlag(home)) ? "same" : "different"
}

const findProcess = (
  directory: InstanceDirectory,
  recorded: Option.Option<ProcessRecord.ProcessRecord>,
  published: Option.Option<RuntimeAddress>
): { readonly process: ProcessMatch; readonly record: Option.Option<ProcessRecord.ProcessRecord> } => {
  const process = Option.match(recorded, {
    onSome: ({ pid, startMark }) => matchProcess(pid, Option.fromNullable(startMark)),
    onNone: (): ProcessMatch => "gone"
  })
  if (process !== "gone" && process !== "different") return { process, record: recorded }
  // After a crash between spawn and record, the record is missing or belongs to the previous process.
  return Option.exists(published, (address) => matchUnrecordedProcess(directory, address) === "same")
    ? { process: "same", record: Option.none() }
    : { process, record: recorded }
}

/** Inspects an owner's instance, started by any backend. Without a token, a live instance is `rejected`. */
export const probeInstance = Effect.fnUntraced(function* (
  client: RuntimeClient,
  directory: InstanceDirectory,
  token: Option.Option<Redacted.Redacted>
): Effect.fn.Return<InstanceProbe, FileOperationFailed> {
  const published = yield* ProcessRecord.readRuntimeAddress(directory)
  const { process, record } = findProcess(directory, yield* ProcessRecord.readProcessRecord(directory), published)
  if (process === "gone" || process === "different")
    return {
      process,
      health: "unresponsive",
      startedWith: Option.none(),
      record,
      pid: Option.none(),
      address: Option.none()
    }
  const pid = Option.orElse(
    Option.map(record, (it) => it.pid),
    () => Option.map(published, (it) => it.pid)
  )
  const address = Option.filter(published, (it) => Option.contains(pid, it.pid))
  const health = yield* Option.match(address, {
    onNone: () => Effect.succeed<HealthProbeResult>("unresponsive"),
    onSome: () =>
      probeHealth(
        client,
        makeSocketEndpoint(directory.socket),
        Option.getOrElse(token, () => Redacted.make("none"))
      )
  })
  return { process, health, startedWith: record, record, pid, address }
})
