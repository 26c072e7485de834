// The lower bound for a proxy: node:http server and client, no parsing.
import { Agent, request as ask } from "node:http"
import { serveUntilParentExits } from "./BenchServer.ts"

const upstream = new URL(process.env["UPSTREAM"] ?? "")
const agent = new Agent({ keepAlive: true, maxSockets: 256 })

serveUntilParentExits((request, response) => {
  const passed = ask(
    {
      agent,
      host: upstream.hostname,
      port: upstream.port,
      method: request.method,
      path: request.url,
      headers: { ...request.headers, host: upstream.host }
    },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    }
  )
  passed.once("error", () => response.destroy())
  request.pipe(passed)
})
