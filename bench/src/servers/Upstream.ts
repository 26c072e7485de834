// A model provider that answers immediately, so that the round trip is measured.
import { closingEvents, modelList, openingEvents, deltaEvent } from "./Completion.ts"
import { serveUntilParentExits } from "./BenchServer.ts"

const pieces = ["Aye", ", ", "aye", ", captain."]
const completion = [openingEvents, ...pieces.map(deltaEvent), closingEvents(pieces.length)].join("")

serveUntilParentExits((request, response) => {
  request.resume().once("end", () => {
    if (request.method === "POST" && request.url === "/v1/chat/completions") {
      response.writeHead(200, { "content-type": "text/event-stream" }).end(completion)
    } else if (request.url === "/v1/models") {
      response.writeHead(200, { "content-type": "application/json" }).end(modelList)
    } else {
      response.writeHead(404).end()
    }
  })
})
