// `npm start` and `npm test` (and `prepare`, which does only what both do first). Needs nothing but Node and npm: installs the packages when the lockfile is new, bundles the
// programs when a source is, and runs. Works the same on a fresh clone and on the hundredth start.
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

const say = (line) => process.stderr.write(`${line}\n`)

const fail = (line) => {
  say(line)
  process.exit(1)
}

const [major, minor] = process.versions.node.split(".").map(Number)
if (major < 20 || (major === 20 && minor < 20)) {
  fail(`Berth needs Node 20.20 or later; this is Node ${process.versions.node}.`)
}
if (![20, 22, 24].includes(major)) {
  say(`Node ${process.versions.node} is not a tested version. Use Node 20, 22 or 24.`)
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

/** npm and pnpm keep caches in the home directory; where that cannot be written, below dist/ instead. */
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

/** Runs a command to its end; what it says is only shown when it fails. */
const quietly = (command, args, options) =>
  new Promise((resolve) => {
    const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] })
    const said = []
    const stop = () => child.kill("SIGTERM")
    const signals = ["SIGTERM", "SIGINT", "SIGHUP"]
    for (const name of signals) process.once(name, stop)
    child.stdout.on("data", (chunk) => said.push(chunk))
    child.stderr.on("data", (chunk) => said.push(chunk))
    child.once("error", (cause) => resolve({ code: 1, output: cause.message }))
    child.once("close", (code, signal) => {
      for (const name of signals) process.removeListener(name, stop)
      resolve({ code: code ?? 1, signal, output: Buffer.concat(said).toString("utf8") })
    })
  })

const install = () =>
  withLock(
    join(root, "dist", ".install-lock"),
    (pid) => say(`Waiting for another installation (process ${pid})`),
    async () => {
      if (isInstalled()) return
      const began = performance.now()
      say("Installing packages (only when the lockfile is new)")
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
      say(`Installed in ${((performance.now() - began) / 1000).toFixed(1)} s`)
    }
  )

const programs = {
  start: ["--max-semi-space-size=1", "--optimize-for-size", join(root, "dist", "supervisor.mjs")],
  test: [join(root, "node_modules", "vitest", "vitest.mjs"), "run"]
}

/**
 * Runs the program in a session of its own: Ctrl-C reaches npm, this process and, passed on by npm, this process once
 * more, but the program must hear of it once to finish its work in peace. A second Ctrl-C (not the echo of the first)
 * is passed on too, and a third ends the program by force. The IPC channel tells the program when we are killed.
 */
const run = (program, args) => {
  const child = spawn(process.execPath, [...program, ...args], {
    cwd: root,
    detached: true,
    stdio: ["inherit", "inherit", "inherit", "ipc"]
  })
  const echo = 1000
  let asked = 0
  let last = 0
  const stop = () => {
    const now = performance.now()
    if (asked > 0 && now - last < echo) return
    asked += 1
    last = now
    child.kill(asked < 3 ? "SIGTERM" : "SIGKILL")
  }
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(name, stop)
  child.once("error", (cause) => fail(cause.message))
  child.once("exit", (code, signal) => process.exit(code ?? (signal === "SIGKILL" ? 137 : 1)))
}

const [name = "", ...args] = process.argv.slice(2)
if (!(name in programs) && name !== "prepare") fail(`Say what to run: ${Object.keys(programs).join(", ")} or prepare.`)
if (!isInstalled()) await install()
const { buildPrograms } = await import("./build.mjs")
await buildPrograms(say).catch((cause) => fail(`The programs could not be built: ${cause.message}`))
if (name in programs) run(programs[name], args)
