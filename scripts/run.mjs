// `npm start`, `npm test`, `npm run setup`, `npm run admin`, `npm run secrets:reseal` and `prepare` (their common first steps):
// installs the packages when the lockfile has changed, builds the programs when a source has changed, and runs. Needs Node and npm only.
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { accessSync, constants, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { withLock } from "./Lock.mjs"

const pnpm = "pnpm@10.34.9"
const root = fileURLToPath(new URL("..", import.meta.url))
const stamp = join(root, "node_modules", ".berth-install-stamp")

const log = (line) => process.stderr.write(`${line}\n`)

const fail = (line) => {
  log(line)
  process.exit(1)
}

const [major, minor] = process.versions.node.split(".").map(Number)
if (major < 20 || (major === 20 && minor < 20)) {
  fail(`Berth needs Node 20.20 or later; this is Node ${process.versions.node}.`)
}
if (![20, 22, 24].includes(major)) {
  log(`Node ${process.versions.node} is not a tested version. Use Node 20, 22 or 24.`)
}

const wanted = () =>
  createHash("sha256")
    .update(readFileSync(join(root, "pnpm-lock.yaml")))
    .update([process.versions.node, process.platform, process.arch].join(" "))
    .digest("hex")

const isInstalled = () => existsSync(stamp) && readFileSync(stamp, "utf8") === wanted()

const canWrite = (directory) => {
  try {
    accessSync(directory, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** npm and pnpm keep caches in the home directory; if it is not writable, they go to dist/.home. */
const installEnvironment = () => {
  const environment = { ...process.env, CI: "true", npm_config_update_notifier: "false" }
  if (canWrite(homedir())) return environment
  const home = join(root, "dist", ".home")
  mkdirSync(home, { recursive: true })
  return {
    ...environment,
    HOME: home,
    npm_config_cache: join(home, ".npm"),
    XDG_CACHE_HOME: "",
    XDG_DATA_HOME: "",
    XDG_STATE_HOME: ""
  }
}

/** Runs a command and returns its exit code and output. */
const quietly = (command, args, options) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] })
    const chunks = []
    const stop = () => child.kill("SIGTERM")
    const signals = ["SIGTERM", "SIGINT", "SIGHUP"]
    for (const name of signals) process.once(name, stop)
    child.stdout.on("data", (chunk) => chunks.push(chunk))
    child.stderr.on("data", (chunk) => chunks.push(chunk))
    child.once("error", (cause) => resolve({ code: 1, output: cause.message }))
    child.once("close", (code, signal) => {
      for (const name of signals) process.removeListener(name, stop)
      resolve({ code: code ?? 1, signal, output: Buffer.concat(chunks).toString("utf8") })
    })
  })

const install = () =>
  withLock(
    join(root, "dist", ".install-lock"),
    (pid) => log(`Waiting for another installation (process ${pid})`),
    async () => {
      if (isInstalled()) return
      const began = performance.now()
      log("Installing packages (only when the lockfile has changed)")
      const { code, output } = await quietly(
        "npx",
        ["--yes", pnpm, "install", "--frozen-lockfile", "--prefer-offline"],
        {
          cwd: root,
          env: installEnvironment(),
          shell: process.platform === "win32"
        }
      )
      if (code !== 0) fail(`${output.trim()}\nThe packages could not be installed.`)
      writeFileSync(stamp, wanted())
      log(`Installed in ${((performance.now() - began) / 1000).toFixed(1)} s`)
    }
  )

const programs = {
  start: ["--max-semi-space-size=1", "--optimize-for-size", join(root, "dist", "supervisor.mjs")],
  setup: [join(root, "dist", "supervisor.mjs"), "setup"],
  admin: [join(root, "dist", "worker.mjs"), "admin"],
  "secrets:reseal": [join(root, "dist", "worker.mjs"), "reseal-secrets"],
  // Collecting garbage in larger steps costs less; vitest.config.ts gives the workers the same flags.
  test: [
    "--max-semi-space-size=128",
    "--min-semi-space-size=64",
    "--initial-old-space-size=512",
    "--single-threaded-gc",
    join(root, "node_modules", "vitest", "vitest.mjs"),
    "run"
  ]
}

/**
 * Runs the program in a separate session. Ctrl-C reaches this process twice (directly and through npm), so signals within
 * one second count once. The first two are sent on as SIGTERM, the third as SIGKILL. The IPC channel closes when this process dies.
 */
const run = (program, args) => {
  const child = spawn(process.execPath, [...program, ...args], {
    cwd: root,
    // Setup reads the terminal, which belongs to this session.
    detached: name !== "setup",
    stdio: ["inherit", "inherit", "inherit", "ipc"]
  })
  const echo = 1000
  let signals = 0
  let last = 0
  const stop = () => {
    const now = performance.now()
    if (signals > 0 && now - last < echo) return
    signals += 1
    last = now
    child.kill(signals < 3 ? "SIGTERM" : "SIGKILL")
  }
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, stop)
  child.once("error", (cause) => fail(cause.message))
  child.once("exit", (code, signal) => process.exit(code ?? (signal === "SIGKILL" ? 137 : 1)))
}

const [name = "", ...args] = process.argv.slice(2)
if (!(name in programs) && name !== "prepare")
  fail(`Usage: node scripts/run.mjs ${Object.keys(programs).join("|")}|prepare`)
if (!isInstalled()) await install()
const { buildPrograms } = await import("./build.mjs")
await buildPrograms(log).catch((cause) => fail(`The programs could not be built: ${cause.message}`))
if (name in programs) run(programs[name], args)
