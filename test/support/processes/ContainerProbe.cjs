// Tries, without the permission model of Node.js, what a container must refuse. Prints the results as one line of JSON.
const { spawn } = require("node:child_process")
const { mkdirSync, readFileSync, readdirSync, writeFileSync } = require("node:fs")
const { connect } = require("node:net")
const { lookup } = require("node:dns/promises")
const { setTimeout } = require("node:timers")

const targets = JSON.parse(process.argv[2])

const attempt = (work) => {
  try {
    work()
    return "possible"
  } catch (cause) {
    return cause.code ?? String(cause)
  }
}

const reach = ([host, port]) =>
  new Promise((resolve) => {
    const socket = connect({ host, port })
    const end = (result) => {
      socket.destroy()
      resolve(result)
    }
    socket.setTimeout(2000, () => end("timeout"))
    socket.once("connect", () => end("possible"))
    socket.once("error", ({ code }) => end(code))
  })

/** Starts processes until one is refused, at most a thousand. */
const fork = async () => {
  const children = []
  for (let count = 0; count < 1000; count++) {
    const child = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], { stdio: "ignore" })
    const failure = await new Promise((resolve) => {
      child.once("error", ({ code }) => resolve(code))
      child.once("exit", (code, signal) => resolve(`exit ${code ?? signal}`))
      setTimeout(() => resolve(undefined), 150)
    })
    if (failure !== undefined) break
    children.push(child)
  }
  for (const child of children) child.kill("SIGKILL")
  return children.length
}

const main = async () => {
  const status = readFileSync("/proc/self/status", "utf8")
  const field = (name) => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(status)?.[1]
  const findings = {
    uid: process.getuid(),
    capabilities: field("CapEff"),
    boundingCapabilities: field("CapBnd"),
    noNewPrivileges: field("NoNewPrivs"),
    seccomp: field("Seccomp"),
    writeRoot: attempt(() => writeFileSync("/runtime/evil", "")),
    writeVolumeRoot: attempt(() => mkdirSync("/data/evil")),
    becomeRoot: attempt(() => process.setuid(0)),
    engineSocket: attempt(() => readFileSync("/var/run/docker.sock")),
    devices: attempt(() => readFileSync("/dev/mem")),
    environment: Object.keys(process.env),
    mounts: readFileSync("/proc/self/mounts", "utf8")
      .split("\n")
      .filter((line) => line.startsWith("/dev/"))
      .map((line) => line.split(" ")[1]),
    homeFiles: readdirSync("/data/home"),
    name: await lookup("example.com").then(
      () => "possible",
      ({ code }) => code
    ),
    reached: Object.fromEntries(
      await Promise.all(Object.entries(targets).map(async ([name, target]) => [name, await reach(target)]))
    ),
    children: await fork()
  }
  process.stdout.write(`${JSON.stringify(findings)}\n`)
}

void main()
