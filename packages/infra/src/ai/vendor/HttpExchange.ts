import { makeWakeup } from "@berth/domain/ai/streams/ChunkSource"
import { areSpansExported } from "@berth/domain/shared/SpanExport"
import { Headers } from "@effect/platform"
import { Effect, Exit, FiberId } from "effect"
import { Agent, type Dispatcher } from "undici"
import type { ChunkBatch, ChunkSource, OpenedSource } from "./ChunkStage.ts"
import { VendorConnectionFailed } from "./VendorErrors.ts"

/* Hot path: one request and its response on undici's dispatcher. `fetch` and web streams take several times as long. */

export interface HttpExchange {
  readonly status: number
  readonly headers: Headers.Headers
  /** Body with back-pressure. */
  readonly bytes: ChunkSource<Uint8Array, VendorConnectionFailed>
}

export interface HttpRequest {
  readonly method: "GET" | "POST"
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | null
}

// One pool per process. The AI layer applies the timeouts.
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 })

/** Returns the system error code among an error's causes, which unlike a message contains no address or key. */
export const findSystemErrorCode = (error: unknown, depth = 0): string | null => {
  if (typeof error !== "object" || error === null || depth > 4) return null
  if ("code" in error && typeof error.code === "string" && /^[A-Z_]+$/.test(error.code)) return error.code
  return "cause" in error ? findSystemErrorCode(error.cause, depth + 1) : null
}

const toConnectFailure = (error: unknown) =>
  new VendorConnectionFailed({ reason: findSystemErrorCode(error) ?? "no connection" })
const toBodyFailure = (error: unknown) =>
  new VendorConnectionFailed({ reason: findSystemErrorCode(error) ?? "connection lost" })

/** Unread bytes above which the connection is paused. */
const maximumBufferedBytes = 64 * 1024

/** Status of the response, or the failure before it. */
type HeadExit = Exit.Exit<number, VendorConnectionFailed>

class IncomingResponse implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | null = null
  #chunks: Array<Uint8Array> = []
  #ahead = 0
  #failure: VendorConnectionFailed | undefined = undefined
  #isOver = false
  #head: HttpExchange | null = null
  #isHeadRead = false
  readonly #wakeup = makeWakeup(
    () => this.#isOver || this.#chunks.length > 0 || (this.#head !== null && !this.#isHeadRead)
  )
  readonly #onHead: (exit: HeadExit) => void

  constructor(onHead: (exit: HeadExit) => void) {
    this.#onHead = onHead
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    // Aborted before the connection was established.
    if (this.#isOver) controller.abort(new Error("aborted"))
  }

  onResponseStart(
    _: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | Array<string>>
  ): void {
    if (status < 200) return
    this.#head = { status, headers: Headers.fromInput(headers), bytes: this.#bytes }
    this.#onHead(Exit.succeed(status))
    this.#wakeup.wake()
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#ahead += chunk.length
    if (this.#ahead > maximumBufferedBytes) controller.pause()
    this.#wakeup.wake()
  }

  onResponseEnd(): void {
    this.#isOver = true
    this.#wakeup.wake()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#failure = this.#head === null ? toConnectFailure(error) : toBodyFailure(error)
    if (this.#head === null) this.#onHead(Exit.fail(this.#failure))
    this.#wakeup.wake()
  }

  /** Closes the connection unless the response is complete. */
  readonly #close = Effect.sync(() => {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#head === null) this.#onHead(Exit.interrupt(FiberId.none))
    this.#controller?.abort(new Error("aborted"))
  })

  #take(): ChunkBatch<Uint8Array, VendorConnectionFailed> | null {
    const values = this.#chunks
    if (values.length === 0 && !this.#isOver) return null
    this.#chunks = []
    this.#ahead = 0
    if (this.#controller?.paused === true) this.#controller.resume()
    return { values, isDone: this.#isOver, failure: this.#failure }
  }

  readonly #bytes: ChunkSource<Uint8Array, VendorConnectionFailed> = {
    poll: () => this.#take(),
    awaitMore: this.#wakeup.wait,
    wake: this.#wakeup.wake
  }

  /** Returns the response head, once, with its body. */
  readonly source: OpenedSource<HttpExchange, VendorConnectionFailed> = {
    close: this.#close,
    ...this.#bytes,
    poll: () => {
      if (this.#head === null) return this.#isOver ? { values: [], isDone: true, failure: this.#failure } : null
      this.#isHeadRead = true
      return { values: [this.#head], isDone: true }
    }
  }
}

/** Span attributes, without headers and query, since these can contain keys. */
const attributesOf = (method: string, { hostname, origin, pathname, port, protocol }: URL) => ({
  "http.request.method": method,
  "server.address": hostname,
  "server.port": port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  "url.full": origin + pathname,
  "url.path": pathname,
  "url.scheme": protocol.slice(0, -1)
})

/** Opens the span of a request. Returns a function that ends it with the response head. */
const openClientSpan = ({ method, url }: HttpRequest) =>
  Effect.zipWith(
    Effect.makeSpan(`http.client ${method}`, {
      kind: "client",
      captureStackTrace: false,
      attributes: attributesOf(method, url)
    }),
    Effect.clock,
    (span, clock) => (exit: HeadExit) => {
      if (Exit.isSuccess(exit)) span.attribute("http.response.status_code", exit.value)
      span.end(clock.unsafeCurrentTimeNanos(), exit)
    }
  )

/**
 * Sends a request without waiting for its response. The source has one value, the response head; closing it aborts the
 * exchange unless the body is complete. Does not follow redirects, and sends no trace headers.
 */
export const sendRequest = (
  request: HttpRequest
): Effect.Effect<OpenedSource<HttpExchange, VendorConnectionFailed>> => {
  const send = (onHead: (exit: HeadExit) => void) => {
    const response = new IncomingResponse(onHead)
    const { body, headers, method, url } = request
    agent.dispatch(
      {
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: { ...headers },
        body
      },
      response
    )
    return response.source
  }
  return Effect.flatMap(areSpansExported, (areSent) =>
    areSent ? Effect.map(openClientSpan(request), send) : Effect.succeed(send(() => undefined))
  )
}
