// A model provider that answers immediately, complete or streamed as requested.
import { closingEvents, wholeCompletion, modelList, openingEvents, deltaEvent } from "./Completion.ts"
import { serveUntilParentExits } from "./BenchServer.ts"

const pieces = ["Aye", ", ", "aye", ", captain."]
const streamed = Buffer.from([openingEvents, ...pieces.map(deltaEvent), closingEvents(pieces.length)].join(""))
const whole = Buffer.from(wholeCompletion(pieces))

serveUntilParentExits((request, response) => {
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
      response.writeHead(200, { "content-type": "application/json" }).end(modelList)
    } else {
      response.writeHead(404).end()
    }
  })
})
