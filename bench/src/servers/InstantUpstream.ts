// A vendor that answers at once, whole or as a stream, whichever is asked for.
import { closing, completion, models, opening, piece } from "./Completion.ts"
import { serve } from "./Serve.ts"

const pieces = ["Aye", ", ", "aye", ", captain."]
const streamed = Buffer.from([opening, ...pieces.map(piece), closing(pieces.length)].join(""))
const whole = Buffer.from(completion(pieces))

serve((request, response) => {
  let wantsStream = false
  request.on("data", (bytes: Buffer) => {
    wantsStream ||= bytes.includes(`"stream":true`)
  })
  request.once("end", () => {
    if (request.method === "POST" && request.url === "/v1/chat/completions") {
      const body = wantsStream ? streamed : whole
      response
        .writeHead(200, {
          "content-type": wantsStream ? "text/event-stream" : "application/json",
          "content-length": body.length
        })
        .end(body)
    } else if (request.url === "/v1/models") {
      response.writeHead(200, { "content-type": "application/json" }).end(models)
    } else {
      response.writeHead(404).end()
    }
  })
})
