import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"
import { setFlagsFromString } from "node:v8"
import { Script } from "node:vm"

/** Files beside the entry. An instance can read them only. */
const programFile = fileURLToPath(new URL("program.cjs", import.meta.url))
const cacheFile = fileURLToPath(new URL("program.cache", import.meta.url))

type Program = (require: NodeJS.Require) => void
const isProgram = (value: unknown): value is Program => typeof value === "function"

/** Compiles the runtime's program. The cache saves a third of the start, and 15 MiB of compiler memory. */
export const compileProgram = ({ usesCache }: { readonly usesCache: boolean }) => {
  // V8 rejects a cache of other flags. The heap limit differs by plan and is in force already.
  setFlagsFromString("--max-old-space-size=0")
  // The build keeps the program in ASCII: one byte per character in memory.
  const script = new Script(`(function (require) {${readFileSync(programFile, "latin1")}\n})`, {
    filename: programFile,
    ...(usesCache && existsSync(cacheFile) ? { cachedData: readFileSync(cacheFile) } : {})
  })
  return {
    run: () => {
      const program: unknown = script.runInThisContext()
      if (isProgram(program)) program(createRequire(programFile))
    },
    /** Keeps the functions that ran. */
    writeCache: () => {
      // Set when garbage is collected.
      setFlagsFromString("--no-expose-gc")
      writeFileSync(cacheFile, script.createCachedData())
    }
  }
}
