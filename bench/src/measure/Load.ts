import { Array, Effect } from "effect"
import type { Client } from "undici"
import { type HttpRequest, CallFailed, openConnection, exchange, findFault, causeMessage } from "./TimedRequest.ts"
import { type Latencies, LatencyRecorder } from "./Latencies.ts"

/** Closed-loop clients: each sends the next request after a response. */
export interface Load {
  readonly origin: string
  readonly connections: number
  /** Request of a connection, by its number and the count of requests so far (-1 for the opening request). */
  readonly callOf: (connection: number, sequence: number) => HttpRequest
}

/** The bound that is reached first ends the load. */
export interface Bounds {
  readonly seconds: number
  readonly requests: number
}

export interface LoadFigures extends Latencies {
  readonly requests: number
  readonly seconds: number
  /** Responses per second. */
  readonly rate: number
}

/**
 * Every connection sends one uncounted request first: Node accepts one new connection per turn of its event loop, which would
 * add waiting time to the last ones.
 */
const open = async (clients: ReadonlyArray<Client>, load: Load) => {
  const answers = await Promise.allSettled(clients.map((client, index) => exchange(client, load.callOf(index, -1))))
  return answers.flatMap((answer, index) => {
    const call = load.callOf(index, -1)
    const reason = answer.status === "rejected" ? causeMessage(answer.reason) : findFault(call, answer.value)
    return reason === "" ? [] : [new CallFailed({ call, reason })]
  })[0]
}

const drive = async (clients: ReadonlyArray<Client>, load: Load, bounds: Bounds, signal: AbortSignal) => {
  const recorder = new LatencyRecorder()
  let failure = await open(clients, load)
  const began = performance.now()
  const end = began + bounds.seconds * 1000
  let requests = 0
  const work = async (client: Client, index: number) => {
    while (performance.now() < end && requests < bounds.requests && failure === undefined && !signal.aborted) {
      const call = load.callOf(index, requests)
      requests += 1
      try {
        const answer = await exchange(client, call)
        recorder.record(answer.took)
        const fault = findFault(call, answer)
        if (fault !== "") failure ??= new CallFailed({ call, reason: fault })
      } catch (cause) {
        failure ??= new CallFailed({ call, reason: causeMessage(cause) })
      }
    }
  }
  await Promise.all(clients.map(work))
  const seconds = (performance.now() - began) / 1000
  return { failure, figures: { requests, seconds, rate: requests / seconds, ...recorder.latencies } }
}

/** Runs the load and returns its figures. Fails on the first unexpected response. */
export const runLoad = (load: Load, bounds: Bounds): Effect.Effect<LoadFigures, CallFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const clients = yield* Effect.all(Array.makeBy(load.connections, () => openConnection(load.origin)))
      const { failure, figures } = yield* Effect.promise((signal) => drive(clients, load, bounds, signal))
      if (failure !== undefined) return yield* failure
      return figures satisfies LoadFigures
    })
  )
