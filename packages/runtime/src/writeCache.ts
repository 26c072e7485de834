// Creates the compile cache of the program: starts it, answers one turn and stops it. Run by the build with the flags
// of instances.
import { runtimeAddressFile, RuntimeEnvironment } from "@berth/api/runtime/RuntimeEnvironment"
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { createServer, request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { setTimeout } from "node:timers/promises"
import { compileProgram } from "./process/CompileCache.ts"

// A minimal image of Node.js has no such directory.
mkdirSync(tmpdir(), { recursive: true })
const directory = mkdtempSync(join(tmpdir(), "berth-runtime-"))
const socket = join(directory, "socket")
const program = compileProgram({ usesCache: false })

const answer = [
  { type: "delta", text: "Done." },
  { type: "done", model: "none", provider: "none" }
]
const backend = createServer((received, response) => {
  received.resume().once("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.end(answer.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""))
  })
})

const send = (method: string, path: string, body?: unknown) =>
  new Promise<string>((resolve, reject) => {
    const headers = { authorization: "Bearer none", "content-type": "application/json" }
    request(
      { socketPath: socket, method, path, headers, agent: false },
      (response) => void text(response).then(resolve, reject)
    )
      .once("error", reject)
      .end(body === undefined ? "" : JSON.stringify(body))
  })

const agent = {
  id: "agt_1",
  name: "None",
  model: "none",
  systemPrompt: null,
  temperature: null,
  maxTokens: null,
  timezone: "UTC",
  skills: [],
  contextWindow: 8000
}
const turn = {
  agentId: agent.id,
  sessionId: "chs_1",
  messageId: "msg_1",
  fromOwner: true,
  summary: null,
  memories: [],
  history: [{ seq: 1, role: "user", content: "Hello" }],
  message: "Hello"
}

await new Promise<void>((resolve) => void backend.listen(0, "127.0.0.1", resolve))
const address = backend.address()
// oxlint-disable-next-line eslint/no-restricted-properties -- sets what the program reads, instead of reading
Object.assign(process.env, {
  [RuntimeEnvironment.token]: "none",
  [RuntimeEnvironment.backendUrl]: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`,
  [RuntimeEnvironment.directory]: directory,
  [RuntimeEnvironment.socket]: socket
})
program.run()
while (!existsSync(join(directory, runtimeAddressFile))) await setTimeout(10)
await send("GET", "/health")
await send("PUT", "/configuration", { agents: [agent] })
const events = await send("POST", "/turns", turn)
if (!events.includes("event: done")) throw new Error(`The runtime answered no turn: ${events}`)
backend.close()
backend.closeAllConnections()
process.once("exit", () => {
  rmSync(directory, { recursive: true })
  program.writeCache()
})
process.emit("SIGTERM")
