import { Effect, Option } from "effect"
import { statSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { fitsSocket } from "../net/SocketPath.ts"
import { isProcessAlive, readCommandLine } from "../process/ProcessIdentity.ts"

interface Postmaster {
  readonly pid: number
  readonly port: number
  /** Accepts connections. */
  readonly isReady: boolean
}

/** Port and state may be missing, since the starting server writes the file line by line. */
export const parsePostmaster = (text: string): Option.Option<Postmaster> => {
  const lines = text.split("\n")
  const pid = Number(lines[0])
  const port = Number(lines[3])
  return Number.isInteger(pid) && pid > 0
    ? Option.some({ pid, port: Number.isInteger(port) ? port : 0, isReady: lines[7]?.trim() === "ready" })
    : Option.none()
}

/** Whether clients can use a socket in the data directory, which is open to the server's account and root. */
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

/** Whether the process is the server of the data directory. The recorded pid may belong to another process by now. */
export const isServerOf = (pid: number, cluster: string): boolean => {
  if (!isProcessAlive(pid)) return false
  const line = readCommandLine(pid).join(" ")
  return line.includes("postgres") && line.includes(cluster)
}
