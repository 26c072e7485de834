// A vendor that answers at once, so that what is measured is the way to it and back.
import { serve } from "./Serve.ts"

const pieces = ["Aye", ", ", "aye", ", captain."]

const chunk = (choice: object | null, more: object = {}) =>
  `data: ${JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    model: "gpt-4o-mini",
    choices: choice === null ? [] : [{ index: 0, finish_reason: null, ...choice }],
    ...more
  })}\n\n`

const completion = [
  chunk({ delta: { role: "assistant", content: "" } }),
  ...pieces.map((content) => chunk({ delta: { content } })),
  chunk({ delta: {}, finish_reason: "stop" }),
  chunk(null, { usage: { prompt_tokens: 20, completion_tokens: pieces.length, total_tokens: 20 + pieces.length } }),
  "data: [DONE]\n\n"
].join("")

const models = JSON.stringify({ object: "list", data: [{ id: "gpt-4o-mini", object: "model", owned_by: "openai" }] })

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
