import { Headers } from "@effect/platform"
import { Chunk, Clock, Effect, Option, type Scope } from "effect"
import { EventEmitter } from "node:events"
import type { Readable } from "node:stream"
import { Agent, request as send } from "undici"
import type { Pull } from "./Pull.ts"
import { WireIsBroken } from "./WireFailure.ts"

/*
 * One POST and its answer, directly on the client that Node's own `fetch` is made of: what fetch and a stream of the web
 * around it add to a call costs several times the call.
 */

export interface Exchange {
  readonly status: number
  readonly headers: Headers.Headers
  /** The bytes of the body as they come, no faster than they are asked for. */
  readonly bytes: Pull<Uint8Array, WireIsBroken>
}

export interface Post {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

// One for the process, as fetch has one: connections are kept for whoever calls the same host next. How long an answer
// may take is for the AI layer to say.
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 })

/** The system's code in an error's causes (ECONNREFUSED), which unlike its message never holds an address or a key. */
export const codeOf = (error: unknown, depth = 0): string | null => {
  if (typeof error !== "object" || error === null || depth > 4) return null
  if ("code" in error && typeof error.code === "string" && /^[A-Z_]+$/.test(error.code)) return error.code
  return "cause" in error ? codeOf(error.cause, depth + 1) : null
}

const noConnection = (error: unknown) => new WireIsBroken({ reason: codeOf(error) ?? "no connection" })
const brokeOff = (error: unknown) => new WireIsBroken({ reason: codeOf(error) ?? "the connection broke off" })

const over = Effect.fail(Option.none())

/** The bytes that a body has now, else those that come next. */
const bytesFrom = (body: Readable): Pull<Uint8Array, WireIsBroken> => {
  const read = (): Pull<Uint8Array, WireIsBroken> | null => {
    const bytes: unknown = body.read()
    if (bytes instanceof Uint8Array) return Effect.succeed(Chunk.of(bytes))
    if (body.errored !== null) return Effect.fail(Option.some(brokeOff(body.errored)))
    if (body.readableEnded) return over
    return body.destroyed ? Effect.fail(Option.some(brokeOff(null))) : null
  }
  const wait = Effect.async<Chunk.Chunk<Uint8Array>, Option.Option<WireIsBroken>>((resume) => {
    const look = () => {
      const come = read()
      if (come === null) return
      finish()
      resume(come)
    }
    const events = ["readable", "end", "error", "close"] as const
    const finish = () => {
      for (const event of events) body.off(event, look)
    }
    for (const event of events) body.on(event, look)
    // What came between the last look and this.
    look()
    return Effect.sync(finish)
  })
  return Effect.suspend(() => read() ?? wait)
}

/** What is told of a call in traces, by OpenTelemetry's conventions: never a header or a query, where keys are. */
const attributesOf = ({ hostname, origin, pathname, port, protocol }: URL) => ({
  "http.request.method": "POST",
  "server.address": hostname,
  "server.port": port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  "url.full": origin + pathname,
  "url.path": pathname,
  "url.scheme": protocol.slice(0, -1)
})

/** Sends, and waits for the head of the answer. The scope ends the connection, unless the body was read to its end. */
export const post = ({ body, headers, url }: Post): Effect.Effect<Exchange, WireIsBroken, Scope.Scope> =>
  Effect.gen(function* () {
    const span = yield* Effect.makeSpan("http.client POST", { kind: "client", attributes: attributesOf(url) })
    const signal = new EventEmitter()
    let answered: Readable | null = null
    const callOff = Effect.sync(() => {
      if (answered === null) signal.emit("abort")
      else if (!answered.readableEnded) answered.destroy()
    })
    const head = Effect.async<Exchange, WireIsBroken>((resume) => {
      send(url, { method: "POST", dispatcher: agent, headers: { ...headers }, body, signal }).then(
        (answer) => {
          answered = answer.body
          // Whoever reads is told by the body itself, and after that nobody is left to tell.
          answered.on("error", () => undefined)
          resume(
            Effect.succeed({
              status: answer.statusCode,
              headers: Headers.fromInput(answer.headers),
              bytes: bytesFrom(answer.body)
            })
          )
        },
        (error: unknown) => resume(Effect.fail(noConnection(error)))
      )
    })
    yield* Effect.addFinalizer(() => callOff)
    return yield* head.pipe(
      Effect.tap(({ status }) => Effect.sync(() => span.attribute("http.response.status_code", status))),
      Effect.onExit((exit) => Effect.map(Clock.currentTimeNanos, (now) => span.end(now, exit)))
    )
  })
