import { Data, Effect, type Scope } from "effect"
import { Client } from "undici"

export interface HttpRequest {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** The expected status. */
  readonly expected: number
  /** Text whose first arrival is timed. */
  readonly awaits?: string
}

/** A response with its times in milliseconds since the request. */
interface TimedResponse {
  readonly status: number
  readonly text: () => string
  readonly took: number
  /** Arrival of the awaited text; NaN when it did not arrive. */
  readonly awaited: number
}

/** A request got no response or an unexpected one. */
export class CallFailed extends Data.TaggedError("CallFailed")<{
  readonly call: HttpRequest
  readonly reason: string
}> {
  override get message() {
    return `${this.call.method} ${this.call.path}: ${this.reason}`
  }
}

/** Longer than 100 containers take to start at once on two cores: the service, not the client, decides what fails. */
const timeoutMs = 120_000

/** A keep-alive connection that carries one request at a time. */
export const openConnection = (origin: string): Effect.Effect<Client, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new Client(origin, { pipelining: 1, headersTimeout: timeoutMs, bodyTimeout: timeoutMs })),
    (client) => Effect.promise(() => client.destroy())
  )

/** Low-level undici handler: work in this process distorts the measurement. */
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

/** Reason why a response is unexpected; empty when it is as expected. */
export const findFault = (call: HttpRequest, answer: TimedResponse): string => {
  if (answer.status !== call.expected) return `answered ${answer.status} ${answer.text().slice(0, 500)}`
  if (call.awaits !== undefined && Number.isNaN(answer.awaited)) return `answered without "${call.awaits}"`
  return ""
}

export const causeMessage = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** Sends one request and returns its expected response. */
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
