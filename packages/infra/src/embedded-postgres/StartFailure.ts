import { Data } from "effect"

/** Reason of a failed start, as required for the next step. */
export type StartFailure = Data.TaggedEnum<{
  /** An earlier server has not yet released the data directory. */
  Locked: { readonly message: string }
  /** A crash while an unlogged table was created left its file; the next start removes it. */
  RecoveryIncomplete: { readonly message: string }
  PortTaken: { readonly message: string }
  /** The file system of the data directory does not support sockets. */
  SocketRefused: { readonly message: string }
  Other: { readonly message: string }
}>

const { Locked, Other, PortTaken, RecoveryIncomplete, SocketRefused } = Data.taggedEnum<StartFailure>()

const lock = /lock file "postmaster\.pid" already exists|pre-existing shared memory block|lock file .* is empty/
const recovery = /could not create file "base\/\d+\/\d+": File exists/
const socket = /could not create any Unix-domain sockets/
const port = /could not bind|Address already in use|could not create any TCP\/IP sockets/

export const classifyStartFailure = (log: string): StartFailure => {
  const lines = log.split("\n").filter((line) => line.trim() !== "")
  const message = lines.findLast((line) => line.includes("FATAL")) ?? lines.at(-1) ?? "it ended without a message"
  if (lock.test(log)) return Locked({ message })
  if (recovery.test(log)) return RecoveryIncomplete({ message })
  if (socket.test(log)) return SocketRefused({ message })
  return port.test(log) ? PortTaken({ message }) : Other({ message })
}
