import { build } from "esbuild"
import { createHash } from "node:crypto"
import { access, mkdir, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))
const place = join(root, "node_modules", ".cache", "berth-test")

const bundle = async (entry: string, define: Readonly<Record<string, string>>) => {
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    platform: "node",
    target: "node20",
    format: "esm",
    minify: true,
    lineLimit: 500,
    logLevel: "error",
    // Optional dependency of pg.
    external: ["pg-native"],
    define: Object.fromEntries(Object.entries(define).map(([name, value]) => [name, JSON.stringify(value)])),
    banner: { js: `import { createRequire } from "node:module"; const require = createRequire(import.meta.url);` }
  })
  const [output] = outputFiles
  if (output === undefined) throw new Error(`${entry} was not bundled`)
  const hash = createHash("sha256").update(output.contents).digest("hex").slice(0, 16)
  const file = join(place, hash, "runtime.mjs")
  const there = await access(file).then(
    () => true,
    () => false
  )
  if (!there) {
    await mkdir(join(place, hash), { recursive: true })
    const unfinished = join(place, `${hash}.${process.pid}`)
    await writeFile(unfinished, output.contents)
    await rename(unfinished, file)
  }
  return file
}

const bundles = new Map<string, Promise<string>>()

/**
 * Bundles a program into one file named by its content, shared by concurrent test files. A process bundles each
 * program once.
 */
export const bundleProgram = (entry: string, define: Readonly<Record<string, string>> = {}): Promise<string> => {
  const key = JSON.stringify([entry, define])
  const known = bundles.get(key) ?? bundle(entry, define)
  bundles.set(key, known)
  return known
}

/** Bundles the runtime from the sources. Returns the absolute path of a self-contained file. */
export const bundleRuntime = (): Promise<string> => bundleProgram(join(root, "packages/runtime/src/main.ts"))

/** A program that starts as a runtime of this version and then misbehaves. */
export const bundleHostileRuntime = (behavior: string, version = "0.0.1"): Promise<string> =>
  bundleProgram(join(root, "test/support/processes/HostileRuntime.ts"), { BEHAVIOR: behavior, VERSION: version })
