import { Deferred, Effect, Option, Schema } from "effect"
import type { IncomingHttpHeaders } from "node:http"
import { WebSocket } from "ws"
import { eventually } from "./Eventually.ts"

export interface SocketCall {
  /** `127.0.0.1:3000`. */
  readonly host: string
  /** With the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly protocols?: ReadonlyArray<string>
}

/** A frame as it came; it is told apart by `type`. */
export type SocketFrame = Readonly<Record<string, unknown>>

export interface SocketRefusal {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: Readonly<Record<string, unknown>>
}

export interface SocketClient {
  readonly ws: WebSocket
  /** All that came so far. */
  readonly frames: ReadonlyArray<SocketFrame>
  /** An object goes as JSON, anything else as it is. */
  readonly send: (frame: string | Uint8Array | object) => void
  /** The first frame that is like this, once it has come. */
  readonly until: (isIt: (frame: SocketFrame) => boolean) => Effect.Effect<SocketFrame, Error>
  readonly closed: Effect.Effect<{ readonly code: number; readonly reason: string }>
}

const decode = Schema.decodeSync(Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown })))

const dial = ({ headers = {}, host, path, protocols = [] }: SocketCall) =>
  new WebSocket(`ws://${host}${path}`, [...protocols], { headers: { ...headers } })

const limit = { duration: "45 seconds", onTimeout: () => new Error("no answer to a handshake in time") } as const

/** A socket that the service takes; it ends with the scope. */
export const connectSocket = (call: SocketCall) =>
  Effect.gen(function* () {
    const closed = yield* Deferred.make<{ readonly code: number; readonly reason: string }>()
    const frames: Array<SocketFrame> = []
    const ws = yield* Effect.acquireRelease(
      Effect.async<WebSocket, Error>((resume) => {
        const made = dial(call)
        made.on("message", (data) => frames.push(decode(Buffer.isBuffer(data) ? data.toString("utf8") : "{}")))
        made.on("close", (code, reason) =>
          Deferred.unsafeDone(closed, Effect.succeed({ code, reason: reason.toString("utf8") }))
        )
        made.on("error", (error) => resume(Effect.fail(error)))
        made.once("open", () => resume(Effect.succeed(made)))
        return Effect.sync(() => made.terminate())
      }).pipe(Effect.timeoutFail(limit)),
      (made) => Effect.sync(() => made.terminate())
    )
    return {
      ws,
      frames,
      send: (frame) =>
        ws.send(typeof frame === "string" || frame instanceof Uint8Array ? frame : JSON.stringify(frame)),
      until: (isIt) =>
        Effect.flatMap(
          eventually(
            Effect.sync(() => frames.find(isIt)),
            (found) => found !== undefined
          ).pipe(Effect.mapError((error) => new Error(`${error.message}; there are ${JSON.stringify(frames)}`))),
          (found) => (found === undefined ? Effect.fail(new Error("unreachable")) : Effect.succeed(found))
        ),
      closed: Deferred.await(closed)
    } satisfies SocketClient
  })

const membersOf = (text: string) =>
  Option.getOrElse(Option.liftThrowable(decode)(text), (): Readonly<Record<string, unknown>> => ({}))

/** The answer of a service that takes no socket for a call. */
export const readSocketRefusal = (call: SocketCall): Effect.Effect<SocketRefusal, Error> =>
  Effect.async<SocketRefusal, Error>((resume) => {
    const made = dial(call)
    made.once("open", () => {
      made.terminate()
      resume(Effect.fail(new Error("the handshake was taken")))
    })
    made.on("error", (error) => resume(Effect.fail(error)))
    made.once("unexpected-response", (request, response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.once("end", () => {
        const text = Buffer.concat(chunks).toString("utf8")
        const { headers, statusCode = 0 } = response
        resume(Effect.succeed({ status: statusCode, headers, text, body: membersOf(text) }))
        request.destroy()
      })
    })
  }).pipe(Effect.timeoutFail(limit))
