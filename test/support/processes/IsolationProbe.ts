import { runtimeAddressFile, RuntimeEnvironment } from "@berth/api/runtime/RuntimeEnvironment"
import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
import { Worker } from "node:worker_threads"

/*
 * A program that attempts what an instance must not be able to do. It writes the results to `findings.json` in its
 * directory, then starts as a runtime, so that a driver accepts it.
 */

const home = process.env[RuntimeEnvironment.directory] ?? ""

const attempt = (work: () => unknown): string => {
  try {
    work()
    return "possible"
  } catch (cause) {
    return cause instanceof Error && "code" in cause ? String(cause.code) : String(cause)
  }
}

const findings = {
  uid: process.getuid?.() ?? null,
  argv: process.argv.slice(2),
  environment: Object.keys(process.env).toSorted(),
  readOwn: attempt(() => {
    writeFileSync(join(home, "note"), "mine")
    return readFileSync(join(home, "note"))
  }),
  readSystem: attempt(() => readFileSync("/etc/passwd")),
  readRecord: attempt(() => readFileSync(join(home, "../record.json"))),
  readNeighbor: attempt(() => readFileSync(join(home, "../../usr_neighbor/home/note"))),
  writeAbove: attempt(() => {
    writeFileSync(join(home, "../evil"), "evil")
  }),
  spawn: attempt(() => {
    const { error } = spawnSync(process.execPath, ["--version"])
    if (error !== undefined) throw error
  }),
  worker: attempt(() => new Worker("", { eval: true }))
}

writeFileSync(join(home, "findings.json"), JSON.stringify(findings))

const startedAt = Date.now()
const server = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify({ status: "ok", runtimeVersion: "probe", startedAt, agents: [] }))
})
const socket = process.env[RuntimeEnvironment.socket]
if (socket === undefined) server.listen(Number(process.env[RuntimeEnvironment.port]))
else
  server.listen(socket, () => {
    const ready = { pid: process.pid, socket, runtimeVersion: "probe", startedAt }
    writeFileSync(join(home, runtimeAddressFile), JSON.stringify(ready))
  })
