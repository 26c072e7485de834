import { writeFileAtomically } from "@berth/infra/files/AtomicFile"
import { readStartTime, isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { Duration, Effect, Option, Ref, Schedule, Schema } from "effect"
import { readFile } from "node:fs/promises"

/** A running program, recorded for the next supervisor in case this one is killed. */
const StartedProgram = Schema.Struct({
  name: Schema.String,
  pid: Schema.Int,
  startTime: Schema.propertySignature(Schema.String).pipe(Schema.fromKey("birth"))
})
const ProgramRecord = Schema.parseJson(Schema.Array(StartedProgram))

type StartedProgram = typeof StartedProgram.Type

const isStillRunning = ({ pid, startTime }: StartedProgram) => isProcessAlive(pid) && readStartTime(pid) === startTime

const signal = ({ name, pid }: StartedProgram, how: NodeJS.Signals) =>
  Effect.try(() => process.kill(pid, how)).pipe(
    Effect.catchAll(() => Effect.logDebug(`The ${name} (${pid}) exited before ${how}`))
  )

const gone = (started: StartedProgram) => Effect.sync(() => !isStillRunning(started))

/** Time for orphaned programs to end themselves before they are killed. */
const exitTimeout = Duration.seconds(10)

const end = Effect.fnUntraced(function* (started: StartedProgram) {
  if (!isStillRunning(started)) return
  yield* Effect.logInfo(`Waiting for the ${started.name} of an earlier start (process ${started.pid}) to end`)
  const ended = yield* gone(started).pipe(
    Effect.repeat({ until: (it) => it, schedule: Schedule.spaced("50 millis") }),
    Effect.timeoutOption(exitTimeout)
  )
  if (Option.isNone(ended)) {
    yield* signal(started, "SIGKILL")
    yield* gone(started).pipe(Effect.repeat({ until: (it) => it, schedule: Schedule.spaced("50 millis") }))
  }
})

/** Ends the programs of a killed supervisor, which occupy the ports and process jobs. */
export const endOrphanedPrograms = (file: string): Effect.Effect<void> =>
  Effect.tryPromise(() => readFile(file, "utf8")).pipe(
    Effect.flatMap(Schema.decode(ProgramRecord)),
    Effect.orElseSucceed((): ReadonlyArray<StartedProgram> => []),
    Effect.flatMap(Effect.forEach(end, { concurrency: "unbounded", discard: true })),
    Effect.withSpan("OrphanedPrograms.end")
  )

/** Returns a function that records each started program. */
export const makeProgramRecorder = Effect.fnUntraced(function* (file: string) {
  const record = yield* Ref.make<ReadonlyArray<StartedProgram>>([])
  const serial = yield* Effect.makeSemaphore(1)
  const write = (list: ReadonlyArray<StartedProgram>) =>
    Effect.flatMap(Schema.encode(ProgramRecord)(list), (text) => Effect.promise(() => writeFileAtomically(file, text)))
  return (name: string, pid: number): Effect.Effect<void> =>
    Ref.updateAndGet(record, (list) => [
      ...list.filter((started) => started.name !== name),
      { name, pid, startTime: readStartTime(pid) }
    ]).pipe(Effect.flatMap(write), Effect.orDie, serial.withPermits(1))
})
