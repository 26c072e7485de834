// The entry of an instance: runs the program with the compile cache of its build, which saves a third of the start and 15 MB.
// With `--write-cache` it makes that cache by one start and stop of the program.
import { runtimeAddressFile, RuntimeEnvironment } from "@berth/api/runtime/RuntimeEnvironment"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { setFlagsFromString } from "node:v8"
import { Script } from "node:vm"

const programFile = fileURLToPath(new URL("program.cjs", import.meta.url))
const cacheFile = fileURLToPath(new URL("program.cache", import.meta.url))
const isWriting = process.argv[2] === "--write-cache"

type Program = (require: NodeJS.Require) => void
const isProgram = (value: unknown): value is Program => typeof value === "function"

// V8 rejects a cache of other flags. The heap limit differs by plan and is in force already.
setFlagsFromString("--max-old-space-size=0")
// The build keeps the program in ASCII: one byte per character in memory.
const script = new Script(`(function (require) {${readFileSync(programFile, "latin1")}\n})`, {
  filename: programFile,
  ...(!isWriting && existsSync(cacheFile) ? { cachedData: readFileSync(cacheFile) } : {})
})

/** Functions that ran are in the cache, those of an orderly stop included. */
const writeCacheAtExit = () => {
  // An image of Node.js alone has no such directory.
  mkdirSync(tmpdir(), { recursive: true })
  const directory = mkdtempSync(join(tmpdir(), "berth-runtime-"))
  // oxlint-disable-next-line eslint/no-restricted-properties -- sets what the program reads, instead of reading
  Object.assign(process.env, {
    [RuntimeEnvironment.token]: "none",
    [RuntimeEnvironment.backendUrl]: "http://127.0.0.1:9",
    [RuntimeEnvironment.directory]: directory,
    [RuntimeEnvironment.socket]: join(directory, "socket")
  })
  process.once("exit", () => {
    rmSync(directory, { recursive: true })
    // Set by the collection of garbage.
    setFlagsFromString("--no-expose-gc")
    writeFileSync(cacheFile, script.createCachedData())
  })
  const wait = setInterval(() => {
    if (!existsSync(join(directory, runtimeAddressFile))) return
    clearInterval(wait)
    process.emit("SIGTERM")
  }, 10)
}

if (isWriting) writeCacheAtExit()
const program: unknown = script.runInThisContext()
if (isProgram(program)) program(createRequire(programFile))
