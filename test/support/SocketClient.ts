import { Deferred, Effect, Option, Schema } from "effect"
import type { IncomingHttpHeaders } from "node:http"
import { WebSocket } from "ws"
import { eventually } from "./Eventually.ts"

export interface SocketCall {
  /** For example `127.0.0.1:3000`. */
  readonly host: string
  /** Request target, including the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly protocols?: ReadonlyArray<string>
}

/** A received frame, discriminated by `type`. */
export type SocketFrame = Readonly<Record<string, unknown>>

interface SocketRefusal {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: Readonly<Record<string, unknown>>
}

export interface SocketClient {
  readonly ws: WebSocket
  /** The received frames. */
  readonly frames: ReadonlyArray<SocketFrame>
  /** Sends an object as JSON, a text or bytes unchanged. */
  readonly send: (frame: string | Uint8Array | object) => void
  /** Waits for the first frame that satisfies the predicate. */
  readonly until: (predicate: (frame: SocketFrame) => boolean) => Effect.Effect<SocketFrame, Error>
  readonly closed: Effect.Effect<{ readonly code: number; readonly reason: string }>
}

const decode = Schema.decodeSync(Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown })))

const dial = ({ headers = {}, host, path, protocols = [] }: SocketCall) =>
  new WebSocket(`ws://${host}${path}`, [...protocols], { headers: { ...headers } })

const limit = { duration: "45 seconds", onTimeout: () => new Error("no handshake response in time") } as const

/** Opens a WebSocket that closes with the scope. */
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
      until: (predicate) =>
        Effect.flatMap(
          eventually(
            Effect.sync(() => frames.find(predicate)),
            (found) => found !== undefined
          ).pipe(Effect.mapError((error) => new Error(`${error.message}; frames: ${JSON.stringify(frames)}`))),
          (found) => (found === undefined ? Effect.fail(new Error("unreachable")) : Effect.succeed(found))
        ),
      closed: Deferred.await(closed)
    } satisfies SocketClient
  })

const membersOf = (text: string) =>
  Option.getOrElse(Option.liftThrowable(decode)(text), (): Readonly<Record<string, unknown>> => ({}))

/** The HTTP response to a rejected WebSocket upgrade. */
export const readSocketRefusal = (call: SocketCall): Effect.Effect<SocketRefusal, Error> =>
  Effect.async<SocketRefusal, Error>((resume) => {
    const made = dial(call)
    made.once("open", () => {
      made.terminate()
      resume(Effect.fail(new Error("the upgrade was accepted")))
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
