import { Data } from "effect"

/** Why a server ended instead of starting, as far as it matters for what to do next. `said` is its own last word. */
export type StartFailure = Data.TaggedEnum<{
  /** An earlier server has not yet let go of the data directory. */
  Locked: { readonly message: string }
  PortTaken: { readonly message: string }
  Other: { readonly message: string }
}>

const { Locked, Other, PortTaken } = Data.taggedEnum<StartFailure>()

const lock = /lock file "postmaster\.pid" already exists|pre-existing shared memory block|lock file .* is empty/
const port = /could not bind|Address already in use|could not create any TCP\/IP sockets/

/** Reads the server's log of one start. */
export const classifyStartFailure = (log: string): StartFailure => {
  const lines = log.split("\n").filter((line) => line.trim() !== "")
  const said = lines.findLast((line) => line.includes("FATAL")) ?? lines.at(-1) ?? "it ended without a word"
  return lock.test(log)
    ? Locked({ message: said })
    : port.test(log)
      ? PortTaken({ message: said })
      : Other({ message: said })
}
