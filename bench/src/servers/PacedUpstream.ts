// A model provider that sends a first token after a delay, then tokens at a fixed pace.
import type { ServerResponse } from "node:http"
import { closingEvents, modelList, openingEvents, deltaEvent } from "./Completion.ts"
import { pace, tokenMark } from "./Pace.ts"
import { serveUntilParentExits } from "./BenchServer.ts"

/** Due times are counted from the start, so that one late token does not delay the rest. */
const speak = (response: ServerResponse) => {
  const began = performance.now()
  response.writeHead(200, { "content-type": "text/event-stream" }).write(openingEvents)
  let sent = 0
  const dueAt = () => began + pace.firstAfterMs + sent * pace.everyMs
  const next = () => {
    if (response.destroyed) return
    if (sent === pace.tokens) return response.end(closingEvents(sent))
    response.write(deltaEvent(` ${tokenMark}${sent}`))
    sent += 1
    setTimeout(next, Math.max(0, dueAt() - performance.now()))
  }
  setTimeout(next, pace.firstAfterMs)
}

serveUntilParentExits((request, response) => {
  request.resume().once("end", () => {
    if (request.method === "POST" && request.url === "/v1/chat/completions") speak(response)
    else if (request.url === "/v1/models")
      response.writeHead(200, { "content-type": "application/json" }).end(modelList)
    else response.writeHead(404).end()
  })
})
