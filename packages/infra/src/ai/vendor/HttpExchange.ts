import { makeWakeup } from "@berth/domain/ai/streams/ChunkSource"
import { useService } from "@berth/domain/shared/HotPath"
import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import { Headers } from "@effect/platform"
import { Effect, Scope } from "effect"
import { Agent, type Dispatcher } from "undici"
import type { ChunkSource, ChunkBatch } from "./ChunkStage.ts"
import { VendorConnectionFailed } from "./VendorErrors.ts"

/* Hot path: one POST and its response on undici's dispatcher. `fetch` and web streams take several times as long. */

export interface HttpExchange {
  readonly status: number
  readonly headers: Headers.Headers
  /** Body with back-pressure. */
  readonly bytes: ChunkSource<Uint8Array, VendorConnectionFailed>
}

export interface HttpPostRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
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

class IncomingResponse implements Dispatcher.DispatchHandler {
  #controller: Dispatcher.DispatchController | null = null
  #pieces: Array<Uint8Array> = []
  #ahead = 0
  #failure: VendorConnectionFailed | undefined = undefined
  #isOver = false
  readonly #wakeup = makeWakeup(() => this.#isOver || this.#pieces.length > 0)
  #hasHead = false
  /** Receives the response head or the failure. */
  onHead: (head: Effect.Effect<HttpExchange, VendorConnectionFailed>) => void = () => undefined

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
    this.#hasHead = true
    this.onHead(Effect.succeed({ status, headers: Headers.fromInput(headers), bytes: this.bytes }))
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.#pieces.push(piece)
    this.#ahead += piece.length
    if (this.#ahead > maximumBufferedBytes) controller.pause()
    this.#wakeup.wake()
  }

  onResponseEnd(): void {
    this.#isOver = true
    this.#wakeup.wake()
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#isOver = true
    this.#failure = toBodyFailure(error)
    if (this.#hasHead) this.#wakeup.wake()
    else this.onHead(Effect.fail(toConnectFailure(error)))
  }

  /** Closes the connection unless the response is complete. */
  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#controller?.abort(new Error("aborted"))
  }

  #take(): ChunkBatch<Uint8Array, VendorConnectionFailed> | null {
    const values = this.#pieces
    if (values.length === 0 && !this.#isOver) return null
    this.#pieces = []
    this.#ahead = 0
    if (this.#controller?.paused === true) this.#controller.resume()
    return { values, isDone: this.#isOver, failure: this.#failure }
  }

  readonly bytes: ChunkSource<Uint8Array, VendorConnectionFailed> = {
    poll: () => this.#take(),
    awaitMore: this.#wakeup.wait,
    wake: this.#wakeup.wake
  }
}

/** Span attributes, without headers and query, since these can contain keys. */
const attributesOf = ({ hostname, origin, pathname, port, protocol }: URL) => ({
  "http.request.method": "POST",
  "server.address": hostname,
  "server.port": port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  "url.full": origin + pathname,
  "url.path": pathname,
  "url.scheme": protocol.slice(0, -1)
})

const withClientSpan = (url: URL, head: Effect.Effect<HttpExchange, VendorConnectionFailed>) =>
  Effect.useSpan(
    "http.client POST",
    { kind: "client", captureStackTrace: false, attributes: attributesOf(url) },
    (span) => Effect.tap(head, ({ status }) => Effect.sync(() => span.attribute("http.response.status_code", status)))
  )

/**
 * Sends a request and waits for the response head. Closing the scope aborts the exchange unless the body is complete.
 */
export const post = ({
  body,
  headers,
  url
}: HttpPostRequest): Effect.Effect<HttpExchange, VendorConnectionFailed, Scope.Scope> =>
  Effect.suspend(() => {
    const response = new IncomingResponse()
    const head = Effect.async<HttpExchange, VendorConnectionFailed>((resume) => {
      response.onHead = resume
      agent.dispatch(
        { origin: url.origin, path: url.pathname + url.search, method: "POST", headers: { ...headers }, body },
        response
      )
    })
    const abort = Effect.sync(() => response.abort())
    // `Effect.addFinalizer` captures the fiber's state, which costs more than the rest of the call.
    return useService(Scope.Scope, (scope) =>
      Effect.zipRight(
        Scope.addFinalizer(scope, abort),
        useService(SpanExportEnabled, (areSent) => (areSent ? withClientSpan(url, head) : head))
      )
    )
  })
