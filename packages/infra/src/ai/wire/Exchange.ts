import { SpansAreSent } from "@berth/domain/ai/SpansAreSent"
import { Headers } from "@effect/platform"
import { Effect, Scope } from "effect"
import { Agent, type Dispatcher } from "undici"
import type { Pull, Taken } from "./Pull.ts"
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

/** Bytes that came and were not asked for; from there on no more are taken from the connection. */
const mostAhead = 64 * 1024

/** An answer as it comes in, with plain callbacks: a stream of Node's between them would cost more than they do. */
class Coming implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | null = null
  #pieces: Array<Uint8Array> = []
  #ahead = 0
  #failure: WireIsBroken | undefined = undefined
  #isOver = false
  #wake: () => void = () => undefined
  #hasHead = false
  /** Told of the head, or why there is none. */
  onHead: (head: Effect.Effect<Exchange, WireIsBroken>) => void = () => undefined

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // Called off before it had a connection.
    if (this.#isOver) controller.abort(new Error("called off"))
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | Array<string>>
  ): void {
    if (status < 200) return
    this.#hasHead = true
    this.onHead(Effect.succeed({ status, headers: Headers.fromInput(headers), bytes: this.bytes }))
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#pieces.push(piece)
    this.#ahead += piece.length
    if (this.#ahead > mostAhead) controller.pause()
    this.#wake()
  }

  onResponseEnd(): void {
    this.#isOver = true
    this.#wake()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#isOver = true
    this.#failure = brokeOff(error)
    if (this.#hasHead) this.#wake()
    else this.onHead(Effect.fail(noConnection(error)))
  }

  /** Ends the connection, unless the answer has come to its end. */
  callOff(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#controller?.abort(new Error("called off"))
  }

  #take(): Taken<Uint8Array, WireIsBroken> | null {
    const values = this.#pieces
    if (values.length === 0 && !this.#isOver) return null
    this.#pieces = []
    this.#ahead = 0
    if (this.#controller?.paused === true) this.#controller.resume()
    return { values, isOver: this.#isOver, failure: this.#failure }
  }

  readonly bytes: Pull<Uint8Array, WireIsBroken> = {
    take: () => this.#take(),
    come: Effect.async<void>((resume) => {
      this.#wake = () => {
        this.#wake = () => undefined
        resume(Effect.void)
      }
      // What came before anybody waited.
      if (this.#isOver || this.#pieces.length > 0) this.#wake()
      return Effect.sync(() => {
        this.#wake = () => undefined
      })
    })
  }
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

const withClientSpan = (url: URL, head: Effect.Effect<Exchange, WireIsBroken>) =>
  Effect.useSpan(
    "http.client POST",
    { kind: "client", captureStackTrace: false, attributes: attributesOf(url) },
    (span) => Effect.tap(head, ({ status }) => Effect.sync(() => span.attribute("http.response.status_code", status)))
  )

/** Sends, and waits for the head of the answer. The scope ends the connection, unless the body was read to its end. */
export const post = ({ body, headers, url }: Post): Effect.Effect<Exchange, WireIsBroken, Scope.Scope> =>
  Effect.suspend(() => {
    const coming = new Coming()
    const head = Effect.async<Exchange, WireIsBroken>((resume) => {
      coming.onHead = resume
      agent.dispatch(
        { origin: url.origin, path: url.pathname + url.search, method: "POST", headers: { ...headers }, body },
        coming
      )
    })
    const callOff = Effect.sync(() => coming.callOff())
    // `Effect.addFinalizer` would keep the state of this fiber for it, which costs more than the call's other steps.
    return Effect.flatMap(Effect.scope, (scope) => Scope.addFinalizer(scope, callOff)).pipe(
      Effect.zipRight(SpansAreSent),
      Effect.flatMap((areSent) => (areSent ? withClientSpan(url, head) : head))
    )
  })
