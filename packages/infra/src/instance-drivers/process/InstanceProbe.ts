import type { RuntimeAddress, RuntimeHealth } from "@berth/api/runtime/RuntimeContract"
import type { RunningInstance } from "@berth/domain/instances/InstanceDriver"
import { DateTime, Effect, Option, Redacted } from "effect"
import type { RuntimeClient } from "../../runtime/RuntimeClient.ts"
import type { InstanceFindings, HealthProbeResult, ProcessMatch } from "./StartDecision.ts"
import type { InstanceDirectory } from "./InstanceDirectory.ts"
import * as ProcessRecord from "./ProcessRecord.ts"
import type { FileOperationFailed } from "./HostFiles.ts"
import * as HostProcess from "./HostProcess.ts"
import { makeWriteFlag } from "./NodeFlags.ts"
import type { UserId } from "@berth/domain/shared/UserId"

export interface InstanceProbe extends InstanceFindings {
  /** The process, unless it is gone or a stranger's. */
  readonly pid: Option.Option<number>
  readonly record: Option.Option<ProcessRecord.ProcessRecord>
  /** Where it says that it listens. */
  readonly address: Option.Option<RuntimeAddress>
}

export const toEndpoint = ({ port }: Pick<RuntimeAddress, "port">): string => `http://127.0.0.1:${port}`

export const toRunningInstance = (
  owner: UserId,
  address: Pick<RuntimeAddress, "port">,
  { runtimeVersion, startedAt }: Pick<RuntimeHealth, "runtimeVersion" | "startedAt">
): RunningInstance => ({
  owner,
  endpoint: toEndpoint(address),
  startedAt: DateTime.unsafeMake(startedAt),
  runtimeVersion
})

/** The process that an address names must show our directory, since a cell writes there what it likes. */
const matchUnrecordedProcess = (place: InstanceDirectory, { pid }: RuntimeAddress): Effect.Effect<ProcessMatch> =>
  HostProcess.isRunning(pid)
    ? Effect.map(HostProcess.readCommandLine(pid), (line) =>
        line.includes(makeWriteFlag(place.home)) ? "ours" : "strange"
      )
    : Effect.succeed("gone")

/** Whether anybody answers there, and to this token. */
export const probeHealth = (
  client: RuntimeClient,
  endpoint: string,
  token: Redacted.Redacted
): Effect.Effect<HealthProbeResult> =>
  client.health({ endpoint, token }).pipe(
    Effect.match({
      onSuccess: () => "healthy",
      onFailure: (error) => (error._tag === "RuntimeRequestRejected" && error.status === 401 ? "refuses" : "silent")
    })
  )

/** What is there of an owner's cell, whoever started it. Without a token a living cell "refuses", which tells that it lives. */
export const probeInstance = (
  client: RuntimeClient,
  place: InstanceDirectory,
  token: Option.Option<Redacted.Redacted>
): Effect.Effect<InstanceProbe, FileOperationFailed> =>
  Effect.gen(function* () {
    const noted = yield* ProcessRecord.readProcessRecord(place)
    const said = yield* ProcessRecord.readRuntimeAddress(place)
    const notedProcess = yield* Option.match(noted, {
      onSome: ({ began, pid }) => HostProcess.matchProcess(pid, Option.fromNullable(began)),
      onNone: () => Effect.succeed<ProcessMatch>("gone")
    })
    // After a crash between spawning and noting there is no record, or still that of the cell before.
    const unrecorded =
      notedProcess === "gone" || notedProcess === "strange"
        ? yield* Option.match(said, {
            onNone: () => Effect.succeed<ProcessMatch>("gone"),
            onSome: (address) => matchUnrecordedProcess(place, address)
          })
        : "gone"
    const [record, process] = unrecorded === "ours" ? [Option.none(), unrecorded] : [noted, notedProcess]
    if (process === "gone" || process === "strange")
      return {
        process,
        health: "silent",
        startedWith: Option.none(),
        record,
        pid: Option.none(),
        address: Option.none()
      }

    const pid = Option.orElse(
      Option.map(record, (it) => it.pid),
      () => Option.map(said, (it) => it.pid)
    )
    const address = Option.filter(said, (it) => Option.contains(pid, it.pid))
    const health = yield* Option.match(address, {
      onNone: () => Effect.succeed<HealthProbeResult>("silent"),
      onSome: (at) =>
        probeHealth(
          client,
          toEndpoint(at),
          Option.getOrElse(token, () => Redacted.make("none"))
        )
    })
    return { process, health, startedWith: record, record, pid, address }
  })
