// Copied to dist/: runs a program with the compile cache of its build. It saves a third of the processor time of loading, and 50 MiB.
import { readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { Script } from "node:vm"

/** A program is one function, in ASCII: its text is read without a copy. */
const load = (file, filename, options) => {
  const script = new Script(readFileSync(file, "latin1"), { filename, ...options })
  const module = { exports: {} }
  const run = () => script.runInThisContext()(module.exports, createRequire(file), module, file, dirname(file))
  return { script, run }
}

const cacheOf = (file) => `${file}.cache`

/** A build that runs at the same time can remove the cache. */
const readCache = (file) => {
  try {
    return { cachedData: readFileSync(cacheOf(file)) }
  } catch {
    return {}
  }
}

/** Runs a CommonJS program. V8 ignores a cache of another version or of other flags. */
export const runProgram = (url) => {
  const file = fileURLToPath(url)
  load(file, file, readCache(file)).run()
}

/** Runs a program and keeps the functions that ran. Stack traces of later runs name the program by `installedUrl`. */
export const writeCache = (url, installedUrl) => {
  const file = fileURLToPath(url)
  const { run, script } = load(file, fileURLToPath(installedUrl), {})
  process.once("exit", () => writeFileSync(cacheOf(file), script.createCachedData()))
  run()
}
