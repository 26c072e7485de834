import {
  type RuntimeModelEvent,
  runtimeModelPath,
  RuntimeModelRequest,
  RuntimeNote,
  runtimeNotesPath,
  RuntimePageQuery,
  runtimePagesPath,
  RuntimeRecallQuery,
  runtimeRecallPath,
  RuntimeSpanBatch,
  runtimeSpansPath
} from "@berth/api/runtime/RuntimeContract"
import { encodeTypedSseEvent, sseKeepAlive } from "@berth/api/http/Sse"
import type { RuntimeSpan } from "@berth/domain/instances/RuntimeSpans"
import { Effect, Schema } from "effect"
import { text } from "node:stream/consumers"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"

/** A model call of a runtime, open until the test responds. */
export interface BackendModelCall {
  readonly request: RuntimeModelRequest
  readonly token: string
  readonly traceparent: string | undefined
  /** The address of the caller's end. */
  readonly connection: string
  readonly send: (...events: ReadonlyArray<RuntimeModelEvent>) => void
  /** Sends an SSE comment, a keep-alive. */
  readonly comment: () => void
  /** Ends the stream normally. */
  readonly end: () => void
  readonly breakConnection: () => void
  /** Responds with a status and a JSON body instead of a stream. */
  readonly fail: (status: number, body: unknown) => void
  /** Resolves when the caller disconnects before the end. */
  readonly abandoned: Promise<void>
}

interface BackendMemoryCall {
  readonly path: string
  readonly token: string
  readonly body: typeof RuntimeNote.Type | typeof RuntimeRecallQuery.Type
}

export interface FakeBackend {
  readonly url: string
  /** The calls so far, oldest first. */
  readonly calls: ReadonlyArray<BackendModelCall>
  /** Sets the response to model calls. Default: the last message in two deltas. */
  readonly respondWith: (answer: (call: BackendModelCall) => void) => void
  /** The memory calls so far, oldest first. */
  readonly memoryCalls: ReadonlyArray<BackendMemoryCall>
  /** Makes memory calls fail. Default: notes are stored, and any shared word finds them. */
  readonly failMemoryWith: (status: number, body: unknown) => void
  /** The relayed spans, with the token and trace of their relay. */
  readonly spans: ReadonlyArray<{ readonly token: string; readonly traceparent: string; readonly span: RuntimeSpan }>
  /** The requested pages, with the token. */
  readonly pageCalls: ReadonlyArray<{ readonly token: string; readonly query: typeof RuntimePageQuery.Type }>
}

export const echo = (call: BackendModelCall): void => {
  call.send(
    { type: "delta", text: "You said: " },
    { type: "delta", text: call.request.messages.at(-1)?.content ?? "" },
    { type: "done", model: call.request.model, provider: "fake" }
  )
  call.end()
}

const decode = Schema.decodeUnknownPromise(Schema.parseJson(RuntimeModelRequest))
const decodeNote = Schema.decodeUnknownPromise(Schema.parseJson(RuntimeNote))
const decodeQuestion = Schema.decodeUnknownPromise(Schema.parseJson(RuntimeRecallQuery))

const decodeSpans = Schema.decodeUnknownPromise(Schema.parseJson(RuntimeSpanBatch))
const decodePageQuery = Schema.decodeUnknownPromise(Schema.parseJson(RuntimePageQuery))

/** Serves a page at `http://site.example` and no other host. */
const showPage = (url: string, response: ServerResponse): void => {
  if (url.startsWith("http://site.example/"))
    response.writeHead(200, { "content-type": "text/html", "content-location": url }).end("<p>Welcome.</p>")
  else
    response
      .writeHead(422, { "content-type": "application/json" })
      .end(JSON.stringify({ error: "Page not readable", message: `${url} is not on the public internet.` }))
}

const bearerOf = ({ headers }: IncomingMessage) => (headers.authorization ?? "").replace(/^Bearer /, "")

/** The backend's memory without its ranking. */
const makeMemory = () => {
  const notes: Array<typeof RuntimeNote.Type> = []
  const calls: Array<BackendMemoryCall> = []
  let refusal: { readonly status: number; readonly body: unknown } | undefined
  const answer = async (request: IncomingMessage): Promise<{ readonly status: number; readonly body?: unknown }> => {
    const [path, token, source] = [request.url ?? "", bearerOf(request), await text(request)]
    if (path === runtimeNotesPath) {
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
        ({ agentId, text }) => agentId === question.agentId && words.some((word) => text.toLowerCase().includes(word))
      )
      .map(({ text }) => ({ kind: "note", text, at: 0 }))
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

const toCall = async (request: IncomingMessage, response: ServerResponse): Promise<BackendModelCall> => {
  const traceparent = request.headers["traceparent"]
  const decoded = await decode(await text(request))
  return {
    request: decoded,
    token: bearerOf(request),
    traceparent: typeof traceparent === "string" ? traceparent : undefined,
    connection: `${request.socket.remoteAddress}:${request.socket.remotePort}`,
    send: (...events) => {
      if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" })
      for (const event of events) response.write(encodeTypedSseEvent(event))
    },
    comment: () => {
      response.write(sseKeepAlive)
    },
    end: () => {
      response.end()
    },
    breakConnection: () => {
      request.socket.destroy()
    },
    fail: (status, body) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
    },
    abandoned: new Promise((resolve) => {
      response.once("close", () => {
        if (!response.writableFinished) resolve()
      })
    })
  }
}

/** Starts a fake of the backend's runtime routes on a free port. */
export const makeFakeBackend = Effect.acquireRelease(
  Effect.async<FakeBackend & { readonly close: () => void }>((resume) => {
    const calls: Array<BackendModelCall> = []
    const pageCalls: Array<FakeBackend["pageCalls"][number]> = []
    const spans: Array<FakeBackend["spans"][number]> = []
    let answer = echo
    const memory = makeMemory()
    const server = createServer((request, response) => {
      if (request.method === "POST" && (request.url === runtimeNotesPath || request.url === runtimeRecallPath)) {
        memory.answer(request).then(
          ({ body, status }) => {
            response.writeHead(status, { "content-type": "application/json" })
            response.end(body === undefined ? undefined : JSON.stringify(body))
          },
          (error: unknown) => response.writeHead(400).end(JSON.stringify({ error: "invalid", message: String(error) }))
        )
        return
      }
      if (request.method === "POST" && request.url === runtimeSpansPath) {
        const from = { token: bearerOf(request), traceparent: String(request.headers["traceparent"]) }
        text(request)
          .then(decodeSpans)
          .then(
            (batch) => {
              spans.push(...batch.spans.map((span) => ({ ...from, span })))
              response.writeHead(204).end()
            },
            () => response.writeHead(400).end()
          )
        return
      }
      if (request.method === "POST" && request.url === runtimePagesPath) {
        text(request)
          .then(decodePageQuery)
          .then(
            (query) => {
              pageCalls.push({ token: bearerOf(request), query })
              showPage(query.url, response)
            },
            () => response.writeHead(400).end()
          )
        return
      }
      if (request.method !== "POST" || request.url !== runtimeModelPath) {
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
          spans,
          respondWith: (next) => {
            answer = next
          },
          memoryCalls: memory.calls,
          failMemoryWith: memory.refuse,
          pageCalls,
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
