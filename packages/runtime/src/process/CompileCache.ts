import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { setFlagsFromString } from "node:v8"
import { Script } from "node:vm"

/** Files next to the entry, read-only for instances. */
const programFile = fileURLToPath(new URL("program.cjs", import.meta.url))
const cacheFile = fileURLToPath(new URL("program.cache", import.meta.url))

type Program = (require: NodeJS.Require) => void
const isProgram = (value: unknown): value is Program => typeof value === "function"

/** Compiles the runtime's program. The cache saves a third of the start, and 15 MiB of compiler memory. */
export const compileProgram = ({ usesCache }: { readonly usesCache: boolean }) => {
  // V8 rejects a cache made with other flags. The heap limit depends on the plan and is already in force.
  setFlagsFromString("--max-old-space-size=0")
  // The build emits ASCII, which takes one byte per character in memory.
  const script = new Script(`(function (require) {${readFileSync(programFile, "latin1")}\n})`, {
    filename: programFile,
    ...(usesCache && existsSync(cacheFile) ? { cachedData: readFileSync(cacheFile) } : {})
  })
  return {
    run: () => {
      const program: unknown = script.runInThisContext()
      if (isProgram(program)) program(createRequire(programFile))
    },
    /** Includes the functions that have run. */
    writeCache: () => {
      // Resets the flag set for garbage collection.
      setFlagsFromString("--no-expose-gc")
      writeFileSync(cacheFile, script.createCachedData())
    }
  }
}
