import { Array, Effect } from "effect"
import type { Client } from "undici"
import { type HttpRequest, CallFailed, openConnection, exchange, findFault, causeMessage } from "./TimedRequest.ts"
import { type Latencies, LatencyRecorder } from "./Latencies.ts"

/** Clients that each ask again as soon as they are answered. */
export interface Load {
  readonly origin: string
  readonly connections: number
  /** What a connection asks, by its number and by how many were sent before over all of them; -1 for what opens it. */
  readonly callOf: (connection: number, sequence: number) => HttpRequest
}

/** Whichever is reached first ends it. */
export interface Bounds {
  readonly seconds: number
  readonly requests: number
}

export interface LoadFigures extends Latencies {
  readonly requests: number
  readonly seconds: number
  /** Answers per second. */
  readonly rate: number
}

/**
 * Every connection asks once, which does not count: Node takes one new connection in a turn of its event loop, so among many
 * the last ones would be measured as waiting to be let in.
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

/** Puts the load on and tells how it was answered; one bad answer fails the whole. */
export const runLoad = (load: Load, bounds: Bounds): Effect.Effect<LoadFigures, CallFailed> =>
  Effect.scoped(
    Effect.gen(function* () {
      const clients = yield* Effect.all(Array.makeBy(load.connections, () => openConnection(load.origin)))
      const { failure, figures } = yield* Effect.promise((signal) => drive(clients, load, bounds, signal))
      if (failure !== undefined) return yield* failure
      return figures satisfies LoadFigures
    })
  )
