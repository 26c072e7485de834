import { Duration, Effect, Schedule } from "effect"
import { runStoppable } from "../../shared/StoppableWork.ts"
import { TurnRepository } from "./TurnRepository.ts"

/** Maximum delay of a request to another process, without that of the statement. */
const pollInterval = Duration.seconds(1)

interface WatchedTurn {
  readonly turnId: string
  readonly stop: () => void
  /** Younger turns are not polled, so that a short turn costs no statement. */
  isOld: boolean
}

/**
 * Requests to stop turns in progress. Stored in the row of the turn, so a request outlives the process that received
 * it.
 */
export class TurnStops extends Effect.Service<TurnStops>()("@berth/TurnStops", {
  scoped: Effect.gen(function* () {
    const turns = yield* TurnRepository
    const watched = new Set<WatchedTurn>()

    const signal = (turnIds: ReadonlyArray<string>) => {
      for (const { stop, turnId } of watched) if (turnIds.includes(turnId)) stop()
    }
    const poll = Effect.suspend(() => {
      const old = [...watched].flatMap(({ isOld, turnId }) => (isOld ? [turnId] : []))
      for (const turn of watched) turn.isOld = true
      return old.length === 0 ? Effect.void : Effect.map(turns.listStopRequested(old), signal)
    }).pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("Requests to stop turns not read", cause)),
      Effect.withTracerEnabled(false)
    )
    yield* Effect.forkScoped(Effect.interruptible(Effect.schedule(poll, Schedule.spaced(pollInterval))))

    /**
     * Runs the work of a turn of this process. None if a stop was requested before the end, which interrupts the work.
     */
    const runUnlessStopped = <A, E, R>(turnId: string, work: Effect.Effect<A, E, R>) =>
      runStoppable(work, (stop) => {
        const turn = { turnId, stop, isOld: false }
        watched.add(turn)
        return () => watched.delete(turn)
      })

    /** Stops turns of any process. Idempotent. */
    const request = Effect.fn("TurnStops.request")(function* (turnIds: ReadonlyArray<string>) {
      if (turnIds.length === 0) return
      yield* turns.requestStop(turnIds)
      signal(turnIds)
    })

    return { runUnlessStopped, request }
  })
}) {}
