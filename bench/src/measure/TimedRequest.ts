import { Data, Effect, type Scope } from "effect"
import { Client } from "undici"

/** A request as it goes out. */
export interface HttpRequest {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The status of a good answer. */
  readonly expected: number
  /** Text whose first coming is timed. */
  readonly awaits?: string
}

/** An answer with its times in milliseconds, counted from the sending. */
export interface TimedResponse {
  readonly status: number
  readonly text: () => string
  readonly took: number
  /** When what the call awaits came; NaN when it did not. */
  readonly awaited: number
}

/** A request got no answer, or not the one that it should get. Its figures would mean nothing. */
export class CallFailed extends Data.TaggedError("CallFailed")<{
  readonly call: HttpRequest
  readonly reason: string
}> {
  override get message() {
    return `${this.call.method} ${this.call.path}: ${this.reason}`
  }
}

const timeoutMs = 30_000

/** A connection that carries one request at a time and is kept open. */
export const openConnection = (origin: string): Effect.Effect<Client, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new Client(origin, { pipelining: 1, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })),
    (client) => Effect.promise(() => client.destroy())
  )

/** As close to the wire as the client allows: what runs here is taken from what is measured. */
export const exchange = (client: Client, call: HttpRequest): Promise<TimedResponse> =>
  new Promise((resolve, reject) => {
    const began = performance.now()
    const chunks: Array<Buffer> = []
    const { awaits, body, headers, method, path } = call
    let status = 0
    let awaited = Number.NaN
    client.dispatch(
      { method, path, headers: { ...headers }, body: body ?? null },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_, code) => {
          status = code
        },
        onResponseData: (_, chunk) => {
          chunks.push(chunk)
          if (awaits !== undefined && Number.isNaN(awaited) && chunk.includes(awaits)) {
            awaited = performance.now() - began
          }
        },
        onResponseEnd: () =>
          resolve({
            status,
            text: () => Buffer.concat(chunks).toString("utf8"),
            took: performance.now() - began,
            awaited
          }),
        onResponseError: (_, error) => reject(error)
      }
    )
  })

/** What is wrong with an answer; empty when nothing is. */
export const findFault = (call: HttpRequest, answer: TimedResponse): string => {
  if (answer.status !== call.expected) return `answered ${answer.status} ${answer.text().slice(0, 500)}`
  if (call.awaits !== undefined && Number.isNaN(answer.awaited)) return `answered without "${call.awaits}"`
  return ""
}

export const causeMessage = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** One request and its good answer. */
export const requestOnce = (client: Client, call: HttpRequest): Effect.Effect<TimedResponse, CallFailed> =>
  Effect.tryPromise({
    try: () => exchange(client, call),
    catch: (cause) => new CallFailed({ call, reason: causeMessage(cause) })
  }).pipe(
    Effect.filterOrFail(
      (answer) => findFault(call, answer) === "",
      (answer) => new CallFailed({ call, reason: findFault(call, answer) })
    )
  )
