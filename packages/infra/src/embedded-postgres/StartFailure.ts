import { Data } from "effect"

/** The reason of a failed start, as far as the next step depends on it. */
export type StartFailure = Data.TaggedEnum<{
  /** An earlier server has not yet released the data directory. */
  Locked: { readonly message: string }
  PortTaken: { readonly message: string }
  Other: { readonly message: string }
}>

const { Locked, Other, PortTaken } = Data.taggedEnum<StartFailure>()

const lock = /lock file "postmaster\.pid" already exists|pre-existing shared memory block|lock file .* is empty/
const port = /could not bind|Address already in use|could not create any TCP\/IP sockets/

/** Classifies by the server's log of one start. */
export const classifyStartFailure = (log: string): StartFailure => {
  const lines = log.split("\n").filter((line) => line.trim() !== "")
  const message = lines.findLast((line) => line.includes("FATAL")) ?? lines.at(-1) ?? "it ended without a message"
  return lock.test(log) ? Locked({ message }) : port.test(log) ? PortTaken({ message }) : Other({ message })
}
