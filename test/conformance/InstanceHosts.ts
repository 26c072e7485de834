import { UserId } from "@berth/domain/accounts/User"
import { type CellSpec, InstanceDriver } from "@berth/domain/instances/InstanceDriver"
import { smallEnvironment } from "@berth/infra/cells/process/NodeFlags"
import type { CareIntervals } from "@berth/infra/cells/process/CellCare"
import * as ProcessDriver from "@berth/infra/cells/process/ProcessDriver"
import { NodeHttpClient } from "@effect/platform-node"
import { it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Logger, Option, Redacted, Schedule, Schema, type Scope, Stream } from "effect"
import { existsSync, readFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"

export interface DriverOptions {
  readonly directory: string
  /** What runs in the cells. */
  readonly program: string
  readonly onClose: "leave" | "stop"
  /** How often the driver looks at its cells; as in production when absent. */
  readonly intervals?: Partial<CareIntervals>
}

/** One kind of host, and what a test does there behind the driver's back. */
export interface Host {
  readonly name: string
  readonly driver: (options: DriverOptions) => Effect.Effect<InstanceDriver["Type"], unknown, Scope.Scope>
  /** What names the cell's process or container for the system. */
  readonly identity: (directory: string, owner: UserId) => Effect.Effect<number>
  readonly exists: (identity: number) => boolean
  /** Ends the cell without a chance to say goodbye. */
  readonly kill: (identity: number) => void
  /** The cell's environment as the host sees it; none where the host does not show it. */
  readonly environment: (identity: number) => Effect.Effect<Option.Option<ReadonlyArray<string>>>
  /** Names of what the host itself sets in the environment. */
  readonly settings: ReadonlyArray<string>
  /** Where the host keeps what belongs to the owner, and in it the cell's own directory. */
  readonly place: (directory: string, owner: UserId) => { readonly all: string; readonly home: string }
  readonly ownAccounts: boolean
  /** Whether the host can say what a cell uses. */
  readonly tellsFigures: boolean
  /** Bytes that a file of a cell may have. */
  readonly longestFile: number
}

const decodeRecord = Schema.decodeUnknownPromise(Schema.parseJson(Schema.Struct({ pid: Schema.Int })))

const runs = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Root of a user namespace of one has no accounts to give. */
const mapsManyAccounts = (): boolean =>
  !existsSync("/proc/self/uid_map") || /\s\d{6,}\s*$/m.test(readFileSync("/proc/self/uid_map", "utf8"))

const processes: Host = {
  name: "process",
  driver: ({ directory, intervals, onClose, program }) =>
    ProcessDriver.layer({ directory, bundle: program, onClose, intervals: intervals ?? {} }).pipe(
      Layer.provide(NodeHttpClient.layer),
      Layer.build,
      Effect.map(Context.get(InstanceDriver))
    ),
  identity: (directory, owner) =>
    Effect.promise(async () => {
      const { pid } = await decodeRecord(await readFile(join(directory, owner, "record.json"), "utf8"))
      return pid
    }),
  exists: runs,
  kill: (pid) => {
    process.kill(pid, "SIGKILL")
  },
  environment: (pid) =>
    Effect.promise(() =>
      readFile(`/proc/${pid}/environ`, "utf8").then(
        (text) => Option.some(text.split("\0").filter((line) => line !== "")),
        () => Option.none()
      )
    ),
  settings: Object.keys(smallEnvironment),
  place: (directory, owner) => ({ all: join(directory, owner), home: join(directory, owner, "home") }),
  ownAccounts: process.getuid?.() === 0 && mapsManyAccounts(),
  tellsFigures: existsSync("/proc/self/status"),
  longestFile: 64 * 1024 * 1024
}

export const ada = UserId.make("usr_ada")
export const bob = UserId.make("usr_bob")

export const specOf = (owner: UserId, changes: Partial<CellSpec> = {}): CellSpec => ({
  owner,
  memoryMb: 256,
  diskMb: 256,
  token: Redacted.make(`token of ${owner}`),
  backendUrl: "http://127.0.0.1:1",
  ...changes
})

/** The status with which the cell answers its health check. */
export const health = (endpoint: string, token: string) =>
  Effect.promise(() => fetch(`${endpoint}/health`, { headers: { authorization: `Bearer ${token}` } })).pipe(
    Effect.map(({ status }) => status)
  )

export const eventually = (condition: () => boolean) =>
  Effect.sync(condition).pipe(
    Effect.repeat({ until: (met) => met, schedule: Schedule.spaced("20 millis") }),
    Effect.timeout("60 seconds"),
    Effect.asVoid
  )

export const pollUntil = <E>(condition: Effect.Effect<boolean, E>) =>
  condition.pipe(
    Effect.repeat({ until: (met) => met, schedule: Schedule.spaced("20 millis") }),
    Effect.timeout("60 seconds"),
    Effect.asVoid
  )

export const firstExit = (driver: InstanceDriver["Type"]) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(Stream.runHead(driver.exits))
    // Deaths are told from the moment of subscription on: let the fiber get there.
    yield* Effect.yieldNow()
    yield* Effect.yieldNow()
    return Fiber.join(fiber).pipe(
      Effect.map(Option.getOrThrow),
      Effect.timeoutFail({ duration: "60 seconds", onTimeout: () => "no exit was told" as const })
    )
  })

/** Real time, a scope, and no log between the results. */
export const test = <E>(name: string, body: () => Effect.Effect<void, E, Scope.Scope>) =>
  it.scopedLive(name, () => Effect.provide(body(), Logger.remove(Logger.defaultLogger)))

export const hosts: ReadonlyArray<Host> = [processes]
