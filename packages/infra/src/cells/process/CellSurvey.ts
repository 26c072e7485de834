import type { CellAddress, CellHealth } from "@berth/api/cell/CellContract"
import type { UserId } from "@berth/domain/accounts/User"
import type { Cell } from "@berth/domain/instances/InstanceDriver"
import { DateTime, Effect, Option, Redacted } from "effect"
import type { CellClient } from "../../runtime/CellClient.ts"
import type { CellFindings, HealthFinding, ProcessFinding } from "./CellFate.ts"
import type { CellPlace } from "./CellPlace.ts"
import * as CellRecord from "./CellRecord.ts"
import type { FileTrouble } from "./HostFiles.ts"
import * as HostProcess from "./HostProcess.ts"
import { writeFlag } from "./NodeFlags.ts"

export interface CellSurvey extends CellFindings {
  /** The process, unless it is gone or a stranger's. */
  readonly pid: Option.Option<number>
  readonly record: Option.Option<CellRecord.CellRecord>
  /** Where it says that it listens. */
  readonly address: Option.Option<CellAddress>
}

export const endpointOf = ({ port }: Pick<CellAddress, "port">): string => `http://127.0.0.1:${port}`

export const toCell = (
  owner: UserId,
  address: Pick<CellAddress, "port">,
  { runtimeVersion, startedAt }: Pick<CellHealth, "runtimeVersion" | "startedAt">
): Cell => ({ owner, endpoint: endpointOf(address), startedAt: DateTime.unsafeMake(startedAt), runtimeVersion })

/** The process that an address names must show our directory, since a cell writes there what it likes. */
const findUnrecorded = (place: CellPlace, { pid }: CellAddress): Effect.Effect<ProcessFinding> =>
  HostProcess.isAlive(pid)
    ? Effect.map(HostProcess.commandLine(pid), (line) => (line.includes(writeFlag(place.home)) ? "ours" : "strange"))
    : Effect.succeed("gone")

/** Whether anybody answers there, and to this token. */
export const ask = (client: CellClient, endpoint: string, token: Redacted.Redacted): Effect.Effect<HealthFinding> =>
  client.health({ endpoint, token }).pipe(
    Effect.match({
      onSuccess: () => "healthy",
      onFailure: (error) => (error._tag === "CellRefused" && error.status === 401 ? "refuses" : "silent")
    })
  )

/** What is there of an owner's cell, whoever started it. Without a token a living cell "refuses", which tells that it lives. */
export const survey = (
  client: CellClient,
  place: CellPlace,
  token: Option.Option<Redacted.Redacted>
): Effect.Effect<CellSurvey, FileTrouble> =>
  Effect.gen(function* () {
    const noted = yield* CellRecord.read(place)
    const said = yield* CellRecord.readAddress(place)
    const notedProcess = yield* Option.match(noted, {
      onSome: ({ began, pid }) => HostProcess.find(pid, Option.fromNullable(began)),
      onNone: () => Effect.succeed<ProcessFinding>("gone")
    })
    // After a crash between spawning and noting there is no record, or still that of the cell before.
    const unrecorded =
      notedProcess === "gone" || notedProcess === "strange"
        ? yield* Option.match(said, {
            onNone: () => Effect.succeed<ProcessFinding>("gone"),
            onSome: (address) => findUnrecorded(place, address)
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
      onNone: () => Effect.succeed<HealthFinding>("silent"),
      onSome: (at) =>
        ask(
          client,
          endpointOf(at),
          Option.getOrElse(token, () => Redacted.make("none"))
        )
    })
    return { process, health, startedWith: record, record, pid, address }
  })
