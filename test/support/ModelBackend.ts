import { type CellModelEvent, cellModelPath, CellModelRequest } from "@berth/api/cell/CellContract"
import { eventFrame, keepAliveFrame } from "@berth/api/cell/CellFrames"
import { Effect, Schema } from "effect"
import { text } from "node:stream/consumers"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

/** A cell's call for a model, open until it is answered. */
export interface ModelCall {
  readonly request: CellModelRequest
  readonly token: string
  readonly traceparent: string | undefined
  readonly send: (...events: ReadonlyArray<CellModelEvent>) => void
  /** A comment in the stream, which says nothing but that it lives. */
  readonly comment: () => void
  /** Ends the answer in good order. */
  readonly end: () => void
  /** Breaks the connection. */
  readonly cut: () => void
  /** Answers with a status and a JSON body instead of a stream. */
  readonly refuse: (status: number, body: unknown) => void
  /** The caller went away before the end. */
  readonly left: Promise<void>
}

export interface ModelBackend {
  readonly url: string
  /** Every call so far, oldest first. */
  readonly calls: ReadonlyArray<ModelCall>
  /** What is done with a call. Default: the last message comes back in two pieces. */
  readonly script: (answer: (call: ModelCall) => void) => void
}

const echo = (call: ModelCall): void => {
  call.send(
    { type: "delta", text: "You said: " },
    { type: "delta", text: call.request.messages.at(-1)?.content ?? "" },
    { type: "done", model: call.request.model, provider: "stand-in" }
  )
  call.end()
}

const decode = Schema.decodeUnknownPromise(Schema.parseJson(CellModelRequest))

const toCall = async (request: IncomingMessage, response: ServerResponse): Promise<ModelCall> => {
  const traceparent = request.headers["traceparent"]
  const decoded = await decode(await text(request))
  return {
    request: decoded,
    token: (request.headers.authorization ?? "").replace(/^Bearer /, ""),
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
    send: (...events) => {
      if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" })
      for (const event of events) response.write(eventFrame(event))
    },
    comment: () => {
      response.write(keepAliveFrame)
    },
    end: () => {
      response.end()
    },
    cut: () => {
      request.socket.destroy()
    },
    refuse: (status, body) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    },
    left: new Promise((resolve) => {
      response.once("close", () => {
        if (!response.writableFinished) resolve()
      })
    })
  }
}

/** A stand-in for the backend's side of a cell's wires, on a port of its own. */
export const modelBackend = Effect.acquireRelease(
  Effect.async<ModelBackend & { readonly close: () => void }>((resume) => {
    const calls: Array<ModelCall> = []
    let answer = echo
    const server = createServer((request, response) => {
      if (request.method !== "POST" || request.url !== cellModelPath) {
        response.writeHead(404).end()
        return
      }
      toCall(request, response).then(
        (call) => {
          calls.push(call)
          answer(call)
        },
        (error: unknown) => response.writeHead(400).end(JSON.stringify({ error: "invalid", message: String(error) }))
      )
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resume(
        Effect.succeed({
          url: `http://127.0.0.1:${port}`,
          calls,
          script: (next) => {
            answer = next
          },
          close: () => {
            server.close()
            server.closeAllConnections()
          }
        })
      )
    })
  }),
  ({ close }) => Effect.sync(close)
)
