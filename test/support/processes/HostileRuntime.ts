import { runtimeAddressFile, RuntimeEnvironment } from "@berth/api/runtime/RuntimeEnvironment"
import { openSync, unlinkSync, writeFileSync, writeSync } from "node:fs"
import { createServer } from "node:http"
import { join } from "node:path"
// Real timers: this program misbehaves over time.
import { setInterval, setTimeout } from "node:timers"

/*
 * A program that starts as a runtime and then misbehaves as its bundle defines, after its first health request, when
 * the driver has accepted it.
 */

/** Defined by the bundler. */
declare const BEHAVIOR: string
declare const VERSION: string

const home = process.env[RuntimeEnvironment.directory] ?? ""

const kept: Array<Buffer> = []
let files = 0

const behaviors: Readonly<Record<string, () => void>> = {
  "leaks memory": () => {
    setInterval(() => kept.push(Buffer.alloc(16 * 1024 * 1024, 1)), 50)
  },
  "uses most of its memory": () => {
    for (let times = 0; times < 26; times++) kept.push(Buffer.alloc(8 * 1024 * 1024, 1))
  },
  hangs: () => {
    for (;;);
  },
  crashes: () => {
    throw new Error("this one crashes")
  },
  "fills its disk": () => {
    setInterval(() => {
      files += 1
      writeFileSync(join(home, `file-${files}`), Buffer.alloc(1024 * 1024, 1))
    }, 20)
  },
  "fills its disk with deleted files": () => {
    setInterval(() => {
      if (++files > 40) return
      const file = openSync(join(home, "gone"), "w")
      unlinkSync(join(home, "gone"))
      writeSync(file, Buffer.alloc(1024 * 1024, 1))
    }, 20)
  },
  "fills its disk with small files": () => {
    setInterval(() => {
      for (let times = 0; times < 100; times++) writeFileSync(join(home, `file-${++files}`), "")
    }, 10)
  },
  "floods its log": () => {
    const line = `${"x".repeat(64 * 1024)}\n`
    setInterval(() => {
      for (let times = 0; times < 128; times++)
        try {
          writeSync(1, line)
        } catch {
          // The file has the maximum size.
        }
    }, 1)
  },
  talks: () => {
    const log = (level: string, seconds: number, message: string, more: object = {}) => {
      const timestamp = new Date(seconds * 1000).toISOString()
      writeSync(1, `${JSON.stringify({ level, timestamp, message, secret: "s3cret", ...more })}\n`)
    }
    log("info", 1, "I am up")
    log("warn", 2, "A turn failed", { agentId: "agt_1", reason: "the model is away" })
    log("error", 3, "A turn died", { agentId: "agt_2", cause: "Error: oh no\n    at somewhere" })
    // A container engine reads the two outputs separately: pauses keep the order.
    setTimeout(() => writeSync(2, "Error: a crash in plain words\n    at nowhere\n"), 300)
    setTimeout(() => {
      log("debug", 4, "A turn was answered", { agentId: "agt_1" })
      writeSync(1, "half a li")
    }, 600)
  }
}

const startedAt = Date.now()
let requested = false
const server = createServer((_request, response) => {
  if (!requested) setTimeout(() => behaviors[BEHAVIOR]?.(), 300)
  requested = true
  response.writeHead(200, { "content-type": "application/json" })
  response.end(JSON.stringify({ status: "ok", runtimeVersion: VERSION, startedAt, agents: [] }))
})
// The first process of a container has no default action for signals.
process.on("SIGTERM", () => {
  if (BEHAVIOR !== "ignores its end") process.exit()
})
if (BEHAVIOR === "does not come up") throw new Error("this one does not come up")
const socket = process.env[RuntimeEnvironment.socket]
if (socket === undefined) server.listen(Number(process.env[RuntimeEnvironment.port]))
else
  server.listen(socket, () => {
    const ready = { pid: process.pid, socket, runtimeVersion: VERSION, startedAt }
    writeFileSync(join(home, runtimeAddressFile), JSON.stringify(ready))
  })
