import { Effect, Option, Schema } from "effect"
import { execFile } from "node:child_process"
import { createReadStream, createWriteStream, existsSync } from "node:fs"
import { mkdir, readFile, rename } from "node:fs/promises"
import { createRequire } from "node:module"
import { delimiter, dirname, join } from "node:path"
import { pipeline } from "node:stream/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { createBrotliDecompress } from "node:zlib"

const names = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]

const onPath = (process.env["PATH"] ?? "")
  .split(delimiter)
  .flatMap((directory) => names.map((name) => join(directory, name)))
  .filter(existsSync)

const Manifest = Schema.parseJson(Schema.Struct({ version: Schema.String }))

/** The browser of the test package, unpacked once next to the packages. */
const unpacked = Effect.tryPromise(async () => {
  // Resolved by its main file: its other files are not exported.
  const folder = join(dirname(createRequire(import.meta.url).resolve("@sparticuz/chromium")), "..", "..")
  const { version } = await Schema.decodePromise(Manifest)(await readFile(join(folder, "package.json"), "utf8"))
  const cache = fileURLToPath(new URL("../../node_modules/.cache/chromium/", import.meta.url))
  const binary = join(cache, version)
  if (existsSync(binary)) return binary
  await mkdir(cache, { recursive: true })
  // Concurrent test processes each rename a complete file into place.
  const own = `${binary}.${process.pid}`
  await pipeline(
    createReadStream(join(folder, "bin", "chromium.br")),
    createBrotliDecompress(),
    createWriteStream(own, { mode: 0o755 })
  )
  await rename(own, binary)
  return binary
})

const runs = (binary: string) =>
  Effect.isSuccess(Effect.tryPromise(() => promisify(execFile)(binary, ["--version"], { timeout: 60_000 })))

/** A Chromium that starts on this machine: the one that the packages bring (Linux on x64), else one on the PATH. */
export const findBrowser: Effect.Effect<Option.Option<string>> = Effect.gen(function* () {
  const brought =
    process.platform === "linux" && process.arch === "x64" ? Option.toArray(yield* Effect.option(unpacked)) : []
  for (const binary of [...brought, ...onPath]) if (yield* runs(binary)) return Option.some(binary)
  return Option.none()
})
