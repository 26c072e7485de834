// `npm run image`: builds the runtime image of `AGENT_RUNTIME=docker` with the `docker` command (DOCKER_HOST selects the engine).
//   --bundle <file>   the entry of the runtime, in a separate folder; default dist/runtime/runtime.mjs
//   --tag <name>      the image's name; default RUNTIME_IMAGE, else berth-runtime
//   --local           without a registry: a base image of this machine's Node.js and its libraries
import { spawn, spawnSync } from "node:child_process"
import { copyFileSync, cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const root = fileURLToPath(new URL("..", import.meta.url))
const { values } = parseArgs({
  options: { bundle: { type: "string" }, tag: { type: "string" }, local: { type: "boolean", default: false } }
})
const tag = values.tag ?? (process.env["RUNTIME_IMAGE"]?.trim() || "berth-runtime")
const bundle = values.bundle ?? join(root, "dist", "runtime", "runtime.mjs")

const fail = (message) => {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

const docker = (args, options = {}) => {
  const { error, status, stderr, stdout } = spawnSync("docker", args, { encoding: "utf8", ...options })
  if (error !== undefined) fail(`The docker command cannot be run (${error.message}). Install Docker.`)
  return { ok: status === 0, output: `${stdout ?? ""}${stderr ?? ""}`.trim() }
}

/** Files that the Node.js of this machine needs, as the loader finds them. */
const listNodeFiles = () => {
  const { status, stdout } = spawnSync("ldd", [process.execPath], { encoding: "utf8" })
  if (status !== 0) fail("ldd is missing: without a registry, a base image can only be made on Linux.")
  return [process.execPath, ...[...stdout.matchAll(/(\/\S+) \(0x/g)].map(([, path]) => path)]
}

/** Imports a base image of this machine's Node.js. */
const importBase = async () => {
  const name = `berth-node:${process.versions.node}`
  if (docker(["image", "inspect", name]).ok) return name
  const archive = spawn(
    "tar",
    [
      "--create",
      "--dereference",
      "--directory=/",
      `--transform=s,^${process.execPath.slice(1)}$,usr/local/bin/node,`,
      ...listNodeFiles().map((path) => path.slice(1))
    ],
    { stdio: ["ignore", "pipe", "inherit"] }
  )
  const changes = ["ENV PATH=/usr/local/bin", `ENV NODE_VERSION=${process.versions.node}`]
  const load = spawn("docker", ["import", ...changes.flatMap((change) => ["--change", change]), "-", name], {
    stdio: [archive.stdout, "ignore", "inherit"]
  })
  // Nothing reads the stream of tar here, so its "close" would not come.
  const ended = (child) => new Promise((resolve) => child.once("exit", (code, signal) => resolve(signal ?? code)))
  const [archived, loaded] = await Promise.all([ended(archive), ended(load)])
  archive.stdout.destroy()
  // The import may end before the padding of the archive.
  if (loaded !== 0 || ![0, "SIGPIPE"].includes(archived)) {
    // The import of an incomplete archive succeeds.
    docker(["image", "rm", "--force", name])
    fail("The base image was not imported; see above.")
  }
  return name
}

/** The Dockerfile's base, or none when it cannot be had. */
const findBase = () => {
  const [, base] = /^ARG BASE=(\S+)$/m.exec(readFileSync(join(root, "deploy/runtime/Dockerfile"), "utf8")) ?? []
  return docker(["image", "inspect", base]).ok || docker(["pull", base]).ok ? base : undefined
}

if (!docker(["version"]).ok) fail("The Docker Engine cannot be reached. Start it, or set DOCKER_HOST to its address.")
if (values.bundle === undefined) {
  const built = spawnSync(process.execPath, [join(root, "scripts/run.mjs"), "prepare"], { stdio: "inherit" })
  if (built.status !== 0) process.exit(1)
}
const found = values.local ? undefined : findBase()
if (found === undefined && !values.local)
  process.stderr.write("No registry has the base image; it is made from this machine's Node.js.\n")
const base = found ?? (await importBase())
const { version } = JSON.parse(readFileSync(join(root, "packages/runtime/package.json"), "utf8"))

const context = mkdtempSync(join(tmpdir(), "berth-image-"))
try {
  cpSync(dirname(bundle), join(context, "runtime"), { recursive: true })
  copyFileSync(join(root, "deploy/runtime/Dockerfile"), join(context, "Dockerfile"))
  const build = docker([
    "build",
    // A program in one file has no compile cache.
    ...(existsSync(join(dirname(bundle), "program.cjs")) ? [] : ["--target", "program"]),
    "--build-arg",
    `BASE=${base}`,
    "--build-arg",
    `VERSION=${version}`,
    "--tag",
    tag,
    context
  ])
  if (!build.ok) fail(build.output)
} finally {
  rmSync(context, { recursive: true, force: true })
}
process.stdout.write(`${tag} ${docker(["image", "inspect", "--format", "{{.Id}}", tag]).output}\n`)
