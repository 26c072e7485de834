import { Effect, Option, Schema } from "effect"
import { Agent, type IncomingHttpHeaders, request } from "node:http"

/** An HTTP request, sent unchecked and unchanged, so that it can be malformed. */
export interface HttpCall {
  readonly method: string
  /** Request target, including the query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string | ReadonlyArray<string>>>
  /** Sent as application/json unless `headers` override the type. */
  readonly json?: unknown
  /** Sent unchanged; chunked when it is an array. */
  readonly body?: string | Uint8Array | ReadonlyArray<Uint8Array>
  /** Expects an incomplete response; a complete one is an error. */
  readonly isCut?: boolean
}

export interface HttpCallResponse {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The members of a JSON object; empty for other bodies. */
  readonly body: Readonly<Record<string, unknown>>
}

const Members = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
/** The members of a JSON object; empty for other values. */
export const parseJsonObject = (text: string) => Option.getOrElse(Schema.decodeOption(Members)(text), () => ({}))

const timeLimit = "45 seconds"

const piecesOf = (call: HttpCall): ReadonlyArray<string | Uint8Array> => {
  if (call.json !== undefined) return [JSON.stringify(call.json)]
  if (call.body === undefined) return []
  return typeof call.body === "string" || call.body instanceof Uint8Array ? [call.body] : call.body
}

const headersOf = (call: HttpCall, pieces: ReadonlyArray<string | Uint8Array>) => {
  const [only, ...more] = pieces
  return {
    ...(call.json === undefined ? {} : { "content-type": "application/json" }),
    ...(only === undefined || more.length > 0 ? {} : { "content-length": String(Buffer.byteLength(only)) }),
    ...Object.fromEntries(
      Object.entries(call.headers ?? {}).map(([name, value]) => [name, typeof value === "string" ? value : [...value]])
    )
  }
}

/** A new connection costs a quarter of a call. The client closes idle ones long before a server does. */
const connections = new Agent({ keepAlive: true, timeout: 1_000 })

/** The server closed the idle connection while a call was sent on it: its idle timeout elapsed on a stalled machine. */
class ConnectionClosed extends Error {}

/** Calls with their own framing use a new connection. */
const framing = new Set(["connection", "content-length", "expect", "transfer-encoding", "upgrade"])
const leavesConnectionClean = ({ headers = {} }: HttpCall, chunks: number) =>
  chunks < 2 && Object.keys(headers).every((name) => !framing.has(name.toLowerCase()))

export const sendHttpCall = (baseUrl: string, call: HttpCall): Effect.Effect<HttpCallResponse> =>
  Effect.async<HttpCallResponse, Error>((resume) => {
    const { hostname, port } = new URL(baseUrl)
    const pieces = piecesOf(call)
    const agent = leavesConnectionClean(call, pieces.length) && connections
    const outgoing = request({
      hostname,
      port,
      method: call.method,
      path: call.path,
      headers: headersOf(call, pieces),
      agent
    })
    outgoing.once("response", (response) => {
      // A connection error while the rest of a rejected body is sent does not affect the response.
      outgoing.removeAllListeners("error").on("error", () => undefined)
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.once("error", (error) => (call.isCut === true ? finish() : resume(Effect.fail(error))))
      response.once("end", () =>
        call.isCut === true ? resume(Effect.fail(new Error("The response was not cut off"))) : finish()
      )
      const finish = () => {
        const text = Buffer.concat(chunks).toString("utf8")
        resume(
          Effect.succeed({
            status: response.statusCode ?? 0,
            headers: response.headers,
            text,
            body: parseJsonObject(text)
          })
        )
        if (!agent) outgoing.destroy()
      }
    })
    outgoing.once("error", (error: NodeJS.ErrnoException) =>
      resume(Effect.fail(outgoing.reusedSocket && error.code === "ECONNRESET" ? new ConnectionClosed() : error))
    )
    for (const piece of pieces) outgoing.write(piece)
    outgoing.end()
    return Effect.sync(() => outgoing.destroy())
  }).pipe(
    Effect.retry({ while: (error) => error instanceof ConnectionClosed, times: 1 }),
    Effect.timeoutFail({
      duration: timeLimit,
      onTimeout: () => new Error(`${call.method} ${call.path} was not answered within ${timeLimit}`)
    }),
    Effect.orDie
  )
