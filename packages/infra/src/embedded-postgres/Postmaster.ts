import { Effect, Option } from "effect"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { isProcessAlive } from "../process/ProcessIdentity.ts"
import * as PostgresAccount from "./PostgresAccount.ts"

/** What a running server says about itself in `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number
  readonly port: number
  /** It accepts connections. */
  readonly isReady: boolean
}

/** The file is written line by line while the server starts, so the port and the state may still be missing. */
export const parsePostmaster = (text: string): Option.Option<Postmaster> => {
  const lines = text.split("\n")
  const pid = Number(lines[0])
  const port = Number(lines[3])
  return Number.isInteger(pid) && pid > 0
    ? Option.some({ pid, port: Number.isInteger(port) ? port : 0, isReady: lines[7]?.trim() === "ready" })
    : Option.none()
}

/** None when there is no such file (or it went away under our hands). */
export const readPostmaster = (cluster: string): Effect.Effect<Option.Option<Postmaster>> =>
  Effect.tryPromise(() => readFile(join(cluster, "postmaster.pid"), "utf8")).pipe(
    Effect.map(parsePostmaster),
    Effect.orElseSucceed(() => Option.none())
  )

/** The command line of a process, its parts separated by blanks. Empty when it is gone. */
const commandLine = (pid: number): Effect.Effect<string> =>
  Effect.tryPromise(() => readFile(`/proc/${pid}/cmdline`, "utf8")).pipe(
    Effect.map((text) => text.replaceAll("\0", " ")),
    Effect.catchAll(() =>
      PostgresAccount.runCommand(PostgresAccount.Self, "ps", ["-ww", "-o", "command=", "-p", String(pid)]).pipe(
        Effect.map((answer) => (answer.ok ? answer.output : ""))
      )
    )
  )

/**
 * Is this process the server of that data directory? After a crash, or in a new container on an old volume, the number
 * in `postmaster.pid` may belong to somebody else by now.
 */
export const isServerOf = (pid: number, cluster: string): Effect.Effect<boolean> =>
  isProcessAlive(pid)
    ? Effect.map(commandLine(pid), (line) => line.includes("postgres") && line.includes(cluster))
    : Effect.succeed(false)
