// A vendor that speaks as a model does: a while of thought, then token after token at a fixed pace.
import type { ServerResponse } from "node:http"
import { closingEvents, modelList, openingEvents, deltaEvent } from "./Completion.ts"
import { pace, tokenMark } from "./Pace.ts"
import { serveUntilParentExits } from "./BenchServer.ts"

/** Every token has its time, counted from the beginning, so that a late one does not delay the rest. */
const speak = (response: ServerResponse) => {
  const began = performance.now()
  response.writeHead(200, { "content-type": "text/event-stream" }).write(openingEvents)
  let said = 0
  const dueAt = () => began + pace.firstAfterMs + said * pace.everyMs
  const next = () => {
    if (response.destroyed) return
    if (said === pace.tokens) return response.end(closingEvents(said))
    response.write(deltaEvent(` ${tokenMark}${said}`))
    said += 1
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
