import { Duration, Effect, Exit, Fiber, FiberId, Schedule } from "effect"
import { TurnRepository } from "./TurnRepository.ts"

/** A request to another process is seen within this time, and that of the statement. */
const pollInterval = Duration.seconds(1)

interface WatchedTurn {
  readonly turnId: string
  readonly work: Fiber.RuntimeFiber<unknown, unknown>
  isStopped: boolean
  /** Younger turns are not looked up, so that a short turn costs no statement. */
  isOld: boolean
}

/** Requests to stop turns in progress. The row of the turn holds the request, which outlives the process that received it. */
export class TurnStops extends Effect.Service<TurnStops>()("@berth/TurnStops", {
  scoped: Effect.gen(function* () {
    const turns = yield* TurnRepository
    const watched = new Set<WatchedTurn>()

    const signal = (turnIds: ReadonlyArray<string>) => {
      for (const turn of watched)
        if (turnIds.includes(turn.turnId)) {
          turn.isStopped = true
          turn.work.unsafeInterruptAsFork(FiberId.none)
        }
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

    /** Runs the work of a turn of this process. False when the turn is to stop before its end, which interrupts it. */
    const runUnlessStopped = <E, R>(turnId: string, work: Effect.Effect<void, E, R>): Effect.Effect<boolean, E, R> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(Effect.fork(restore(work)), (fiber) => {
          const turn: WatchedTurn = { turnId, work: fiber, isStopped: false, isOld: false }
          watched.add(turn)
          return Effect.matchCauseEffect(restore(fiber.await), {
            onFailure: (cause) => {
              watched.delete(turn)
              return Effect.zipRight(Fiber.interrupt(fiber), Effect.failCause(cause))
            },
            onSuccess: (exit) => {
              watched.delete(turn)
              if (Exit.isSuccess(exit)) return Effect.succeed(true)
              return turn.isStopped && Exit.isInterrupted(exit) ? Effect.succeed(false) : Effect.failCause(exit.cause)
            }
          })
        })
      )

    /** Stops turns, of every process. Idempotent. */
    const request = Effect.fn("TurnStops.request")(function* (turnIds: ReadonlyArray<string>) {
      if (turnIds.length === 0) return
      yield* turns.requestStop(turnIds)
      signal(turnIds)
    })

    return { runUnlessStopped, request }
  })
}) {}
