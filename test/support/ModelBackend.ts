import {
  type CellModelEvent,
  cellModelPath,
  CellModelRequest,
  CellNote,
  cellNotesPath,
  CellQuestion,
  cellRecallPath
} from "@berth/api/cell/CellContract"
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

/** What a cell asks of its agents' memory. */
export interface MemoryCall {
  readonly path: string
  readonly token: string
  readonly body: typeof CellNote.Type | typeof CellQuestion.Type
}

export interface ModelBackend {
  readonly url: string
  /** Every call so far, oldest first. */
  readonly calls: ReadonlyArray<ModelCall>
  /** What is done with a call. Default: the last message comes back in two pieces. */
  readonly script: (answer: (call: ModelCall) => void) => void
  /** Every call of the memory so far, oldest first. */
  readonly memoryCalls: ReadonlyArray<MemoryCall>
  /** What is answered from now on instead. Default: notes are kept, and found by any word that they contain. */
  readonly refuseMemory: (status: number, body: unknown) => void
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
const decodeNote = Schema.decodeUnknownPromise(Schema.parseJson(CellNote))
const decodeQuestion = Schema.decodeUnknownPromise(Schema.parseJson(CellQuestion))

const bearerOf = ({ headers }: IncomingMessage) => (headers.authorization ?? "").replace(/^Bearer /, "")

/** A memory as the backend keeps it, without its cleverness. */
const makeMemory = () => {
  const notes: Array<typeof CellNote.Type> = []
  const calls: Array<MemoryCall> = []
  let refusal: { readonly status: number; readonly body: unknown } | undefined
  const answer = async (request: IncomingMessage): Promise<{ readonly status: number; readonly body?: unknown }> => {
    const [path, token, source] = [request.url ?? "", bearerOf(request), await text(request)]
    if (path === cellNotesPath) {
      const note = await decodeNote(source)
      calls.push({ path, token, body: note })
      if (refusal === undefined) notes.push(note)
      return refusal ?? { status: 204 }
    }
    const question = await decodeQuestion(source)
    calls.push({ path, token, body: question })
    const words = question.query.toLowerCase().split(/\s+/)
    const found = notes
      .filter(
        ({ agentId, text: said }) =>
          agentId === question.agentId && words.some((word) => said.toLowerCase().includes(word))
      )
      .map(({ text: said }) => ({ kind: "note", text: said, at: 0 }))
    return refusal ?? { status: 200, body: { found } }
  }
  return {
    calls,
    answer,
    refuse: (status: number, body: unknown) => {
      refusal = { status, body }
    }
  }
}

const toCall = async (request: IncomingMessage, response: ServerResponse): Promise<ModelCall> => {
  const traceparent = request.headers["traceparent"]
  const decoded = await decode(await text(request))
  return {
    request: decoded,
    token: bearerOf(request),
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
    const memory = makeMemory()
    const server = createServer((request, response) => {
      if (request.method === "POST" && (request.url === cellNotesPath || request.url === cellRecallPath)) {
        memory.answer(request).then(
          ({ body, status }) => {
            response.writeHead(status, { "content-type": "application/json" })
            response.end(body === undefined ? undefined : JSON.stringify(body))
          },
          (error: unknown) => response.writeHead(400).end(JSON.stringify({ error: "invalid", message: String(error) }))
        )
        return
      }
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
          memoryCalls: memory.calls,
          refuseMemory: memory.refuse,
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
