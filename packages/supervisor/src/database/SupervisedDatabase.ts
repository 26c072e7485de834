import * as EmbeddedPostgres from "@berth/infra/embedded-postgres/EmbeddedPostgres"
import type { EmbeddedPostgresStartFailed } from "@berth/infra/embedded-postgres/EmbeddedPostgresErrors"
import { Deferred, Effect, Fiber, type Redacted, Schedule } from "effect"
import { LiveProcesses } from "../programs/LiveProcesses.ts"

interface SupervisedDatabase {
  readonly url: Redacted.Redacted
  /** Fails if the server ended and cannot be restarted. */
  readonly lost: Effect.Effect<never, EmbeddedPostgresStartFailed>
}

const restartSchedule = Schedule.intersect(Schedule.exponential("1 second"), Schedule.recurs(4))

/** Runs the server until it exits, and returns its port. */
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
        onInitialize: Effect.logInfo("Creating an empty database, only at the first start")
      })
      // SIGQUIT is an immediate shutdown: the server ends its processes, and recovers at its next start.
      yield* processes.add(running.pid, "SIGQUIT")
      yield* Effect.addFinalizer(() => processes.remove(running.pid))
      yield* onStarted(running)
      yield* running.exited
      return running.port
    })
  )

/** The embedded PostgreSQL, restarted on the same port after a crash, stopped when the scope closes. */
export const superviseDatabase = Effect.fn("SupervisedDatabase.supervise")(function* (directory: string) {
  const firstStart = yield* Deferred.make<EmbeddedPostgres.RunningPostgres, EmbeddedPostgresStartFailed>()
  const reportStarted = (running: EmbeddedPostgres.RunningPostgres) =>
    Effect.zipRight(
      Effect.logInfo(`PostgreSQL ${running.version} ${running.adopted ? "adopted" : "runs"} on port ${running.port}`),
      Deferred.succeed(firstStart, running)
    )
  const restartLoop = (port: number): Effect.Effect<never, EmbeddedPostgresStartFailed, LiveProcesses> =>
    Effect.logWarning("PostgreSQL exited and is restarted").pipe(
      Effect.zipRight(Effect.retry(runOnce(directory, port, reportStarted), restartSchedule)),
      Effect.delay("250 millis"),
      Effect.flatMap(restartLoop)
    )
  const supervision = yield* runOnce(directory, undefined, reportStarted).pipe(
    Effect.flatMap(restartLoop),
    Effect.tapErrorCause((cause) => Deferred.failCause(firstStart, cause)),
    Effect.forkScoped
  )
  const { url } = yield* Deferred.await(firstStart)
  return { url, lost: Fiber.join(supervision) } satisfies SupervisedDatabase
})
