import * as EmbeddedPostgres from "@berth/infra/embedded-postgres/EmbeddedPostgres"
import type { EmbeddedPostgresStartFailed } from "@berth/infra/embedded-postgres/EmbeddedPostgresErrors"
import { Deferred, Effect, Fiber, type Redacted, Schedule } from "effect"
import { LiveProcesses } from "../programs/LiveProcesses.ts"

export interface SupervisedDatabase {
  readonly url: Redacted.Redacted
  /** Fails when the server ended and cannot be brought up again. */
  readonly lost: Effect.Effect<never, EmbeddedPostgresStartFailed>
}

const restartSchedule = Schedule.intersect(Schedule.exponential("1 second"), Schedule.recurs(4))

/** Runs the server until it ends by itself, and tells the port it ran on. */
const runOnce = (
  directory: string,
  port: number | undefined,
  onStarted: (it: EmbeddedPostgres.RunningPostgres) => Effect.Effect<unknown>
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const processes = yield* LiveProcesses
      const running = yield* EmbeddedPostgres.start({
        directory,
        ...(port === undefined ? {} : { port }),
        onInitialize: Effect.logInfo("Making an empty database (only at the first start)")
      })
      // "Immediate": the server ends its own processes, and recovers at its next start.
      yield* processes.add(running.pid, "SIGQUIT")
      yield* Effect.addFinalizer(() => processes.remove(running.pid))
      yield* onStarted(running)
      yield* running.exited
      return running.port
    })
  )

/** The embedded PostgreSQL, brought up again on the same port whenever it crashes, stopped when the scope closes. */
export const superviseDatabase = Effect.fn("SupervisedDatabase.supervise")(function* (directory: string) {
  const first = yield* Deferred.make<EmbeddedPostgres.RunningPostgres, EmbeddedPostgresStartFailed>()
  const tell = (running: EmbeddedPostgres.RunningPostgres) =>
    Effect.zipRight(
      Effect.logInfo(
        `PostgreSQL ${running.version} ${running.adopted ? "was running already" : "runs"} on port ${running.port}`
      ),
      Deferred.succeed(first, running)
    )
  const round = (port: number): Effect.Effect<never, EmbeddedPostgresStartFailed, LiveProcesses> =>
    Effect.logWarning("PostgreSQL ended and is started again").pipe(
      Effect.zipRight(Effect.retry(runOnce(directory, port, tell), restartSchedule)),
      Effect.delay("250 millis"),
      Effect.flatMap(round)
    )
  const keeper = yield* runOnce(directory, undefined, tell).pipe(
    Effect.flatMap(round),
    Effect.tapErrorCause((cause) => Deferred.failCause(first, cause)),
    Effect.forkScoped
  )
  const { url } = yield* Deferred.await(first)
  return { url, lost: Fiber.join(keeper) } satisfies SupervisedDatabase
})
