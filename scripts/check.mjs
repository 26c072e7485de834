// Static checks: types and lint, boundaries, language, format, the packages of the client and the CLI. Arguments select some of them by name.
import { spawn } from "node:child_process"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("..", import.meta.url))
const bin = (name) => join(root, "node_modules", ".bin", name)

const checks = {
  // The compiler's errors too: both share one program, in a tenth of the time of `tsc`.
  types: [bin("oxlint"), "--type-aware", "--type-check", "--deny-warnings"],
  boundaries: [process.execPath, "scripts/boundaries.mjs"],
  clients: [process.execPath, "scripts/clients.mjs"],
  language: [process.execPath, "scripts/language.mjs"],
  format: [process.execPath, "scripts/format.mjs"]
}

const run = ([command, ...args]) =>
  new Promise((resolve) => {
    const began = performance.now()
    const child = spawn(command, args, {
      cwd: root,
      stdio: ["ignore", "pipe", "pipe"],
      shell: process.platform === "win32"
    })
    const chunks = []
    child.stdout.on("data", (chunk) => chunks.push(chunk))
    child.stderr.on("data", (chunk) => chunks.push(chunk))
    const end = (ok, more = "") =>
      resolve({
        ok,
        seconds: (performance.now() - began) / 1000,
        output: Buffer.concat(chunks).toString("utf8") + more
      })
    child.once("error", (cause) => end(false, cause.message))
    child.once("close", (code) => end(code === 0))
  })

const wanted = process.argv.slice(2)
const names = Object.keys(checks).filter((name) => wanted.length === 0 || wanted.includes(name))
const results = await Promise.all(
  names.map(async (name) => {
    const result = await run(checks[name])
    if (!result.ok) console.log(result.output.trim())
    console.log(`${result.ok ? "ok    " : "FAILED"}  ${name.padEnd(10)}  ${result.seconds.toFixed(1)} s`)
    return result
  })
)
process.exit(results.every(({ ok }) => ok) ? 0 : 1)
