import { isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { Effect, Option, Schema } from "effect"
import { readdir, readFile } from "node:fs/promises"
import { join } from "node:path"
import type { UserId } from "@berth/domain/shared/UserId"

/** Files of the process driver for one owner. */
interface RuntimeTraces {
  readonly owner: string
  readonly log: string
  /** Its process, while one is expected. */
  readonly pid: Option.Option<number>
}

const Record = Schema.parseJson(Schema.Struct({ pid: Schema.Int }))
const decodeRecord = Schema.decodeOption(Record)

const read = (...path: ReadonlyArray<string>) =>
  Effect.orElseSucceed(
    Effect.tryPromise(() => readFile(join(...path), "utf8")),
    () => ""
  )

const tracesOf = (dataDirectory: string, owner: string) =>
  Effect.all({
    owner: Effect.succeed(owner),
    log: read(dataDirectory, "instances", owner, "instance.log"),
    pid: Effect.map(read(dataDirectory, "instances", owner, "record.json"), (text) =>
      Option.map(decodeRecord(text), ({ pid }) => pid)
    )
  })

export const readAllRuntimeTraces = (dataDirectory: string): Effect.Effect<ReadonlyArray<RuntimeTraces>> =>
  Effect.tryPromise(() => readdir(join(dataDirectory, "instances"))).pipe(
    // No instance was started.
    Effect.orElseSucceed(() => []),
    Effect.map((entries) => entries.filter((name) => name.startsWith("usr_"))),
    Effect.flatMap(Effect.forEach((owner) => tracesOf(dataDirectory, owner)))
  )

/** The process of an owner's instance. */
export const readRuntimePid = (dataDirectory: string, owner: UserId): Effect.Effect<Option.Option<number>> =>
  Effect.map(tracesOf(dataDirectory, owner), ({ pid }) => pid)

/** Environment of a process; empty if the system hides it. */
export const readProcessEnvironment = (pid: number): Effect.Effect<string> => read(`/proc/${pid}/environ`)

/** Every running process of an owner's instance. */
export const listRuntimeProcesses = (owner: UserId): Effect.Effect<ReadonlyArray<number>> =>
  Effect.promise(() => readdir("/proc")).pipe(
    Effect.map((entries) => entries.map(Number).filter((pid) => Number.isInteger(pid) && isProcessAlive(pid))),
    Effect.flatMap(
      Effect.filter((pid) => Effect.map(readProcessEnvironment(pid), (text) => text.includes(`/${owner}/home\0`)), {
        concurrency: 16
      })
    )
  )
