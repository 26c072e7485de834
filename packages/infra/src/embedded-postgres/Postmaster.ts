import { Effect, Option } from "effect"
import { statSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { fitsSocket } from "../net/SocketPath.ts"
import { isProcessAlive, readCommandLine } from "../process/ProcessIdentity.ts"

/** The content of `postmaster.pid`. */
export interface Postmaster {
  readonly pid: number
  readonly port: number
  /** Accepts connections. */
  readonly isReady: boolean
}

/** The server writes the file line by line while it starts: port and state may be missing. */
export const parsePostmaster = (text: string): Option.Option<Postmaster> => {
  const lines = text.split("\n")
  const pid = Number(lines[0])
  const port = Number(lines[3])
  return Number.isInteger(pid) && pid > 0
    ? Option.some({ pid, port: Number.isInteger(port) ? port : 0, isReady: lines[7]?.trim() === "ready" })
    : Option.none()
}

/** Whether clients reach the server by a socket in its data directory, which its account and root can open. */
export const hasSocket = (cluster: string, port: number): boolean => {
  const socket = join(cluster, `.s.PGSQL.${port}`)
  return fitsSocket(socket) && statSync(socket, { throwIfNoEntry: false })?.isSocket() === true
}

/** None without the file. */
export const readPostmaster = (cluster: string): Effect.Effect<Option.Option<Postmaster>> =>
  Effect.tryPromise(() => readFile(join(cluster, "postmaster.pid"), "utf8")).pipe(
    Effect.map(parsePostmaster),
    Effect.orElseSucceed(() => Option.none())
  )

/** Whether the process is the server of the data directory. A recorded number may be another process's by now. */
export const isServerOf = (pid: number, cluster: string): boolean => {
  if (!isProcessAlive(pid)) return false
  const line = readCommandLine(pid).join(" ")
  return line.includes("postgres") && line.includes(cluster)
}
