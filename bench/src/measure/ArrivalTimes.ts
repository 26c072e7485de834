import { Effect } from "effect"
import type { Client } from "undici"
import { type HttpRequest, CallFailed, findFault, causeMessage } from "./TimedRequest.ts"

interface MarkTimes {
  readonly arrivals: ReadonlyArray<number>
  readonly text: () => string
}

/** Calls back with the arrival time of each mark in a body, in milliseconds since the request. */
const readMarkTimes = (client: Client, call: HttpRequest, mark: string): Promise<MarkTimes> =>
  new Promise((resolve, reject) => {
    const began = performance.now()
    const { body, headers, method, path } = call
    const arrivals: Array<number> = []
    let status = 0
    const chunks: Array<Buffer> = []
    const text = () => Buffer.concat(chunks).toString("utf8")
    client.dispatch(
      { method, path, headers: { ...headers }, body: body ?? null },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_, code) => {
          status = code
        },
        onResponseData: (_, chunk) => {
          const now = performance.now() - began
          const text = chunk.toString("latin1")
          for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) arrivals.push(now)
          chunks.push(chunk)
        },
        onResponseEnd: () => {
          const fault = findFault(call, { status, text, took: 0, awaited: 0 })
          if (fault === "") resolve({ arrivals, text })
          else reject(new Error(fault))
        },
        onResponseError: (_, error) => reject(error)
      }
    )
  })

/** Arrival times of the first marks of a streamed response. A mark is one character. */
export const measureArrivalTimes = (client: Client, call: HttpRequest, mark: string, count: number) =>
  Effect.tryPromise({
    try: () => readMarkTimes(client, call, mark),
    catch: (cause) => new CallFailed({ call, reason: causeMessage(cause) })
  }).pipe(
    Effect.filterOrFail(
      ({ arrivals }) => arrivals.length >= count,
      ({ arrivals, text }) =>
        new CallFailed({ call, reason: `${arrivals.length} of ${count} tokens came, then ${text().slice(-300)}` })
    ),
    Effect.map(({ arrivals }) => arrivals.slice(0, count))
  )
