// A vendor that answers at once, so that what is measured is the way to it and back.
import { closing, models, opening, piece } from "./Completion.ts"
import { serve } from "./Serve.ts"

const pieces = ["Aye", ", ", "aye", ", captain."]
const completion = [opening, ...pieces.map(piece), closing(pieces.length)].join("")

serve((request, response) => {
  request.resume().once("end", () => {
    if (request.method === "POST" && request.url === "/v1/chat/completions") {
      response.writeHead(200, { "content-type": "text/event-stream" }).end(completion)
    } else if (request.url === "/v1/models") {
      response.writeHead(200, { "content-type": "application/json" }).end(models)
    } else {
      response.writeHead(404).end()
    }
  })
})
