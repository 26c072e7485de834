import { readProcessBirth, isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { Duration, Effect, Option, Ref, Schedule, Schema } from "effect"
import { readFile, rename, writeFile } from "node:fs/promises"

/** A program that runs now, written down for the supervisor that comes after one that was killed. */
const StartedProgram = Schema.Struct({ name: Schema.String, pid: Schema.Int, birth: Schema.String })
const ProgramRecord = Schema.parseJson(Schema.Array(StartedProgram))

type StartedProgram = typeof StartedProgram.Type

const isStillRunning = ({ birth: born, pid }: StartedProgram) => isProcessAlive(pid) && readProcessBirth(pid) === born

const signal = ({ name, pid }: StartedProgram, how: NodeJS.Signals) =>
  Effect.try(() => process.kill(pid, how)).pipe(
    Effect.catchAll(() => Effect.logDebug(`The ${name} (${pid}) was gone before ${how}`))
  )

const gone = (started: StartedProgram) => Effect.sync(() => !isStillRunning(started))

/** They noticed their supervisor's death and are ending; what takes longer than this is ended by force. */
const exitTimeout = Duration.seconds(10)

const end = (started: StartedProgram) =>
  Effect.gen(function* () {
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

/** Ends what a killed supervisor left behind: it would keep the ports, and do the work of its successor. */
export const endOrphanedPrograms = (file: string): Effect.Effect<void> =>
  Effect.tryPromise(() => readFile(file, "utf8")).pipe(
    Effect.flatMap(Schema.decode(ProgramRecord)),
    Effect.orElseSucceed((): ReadonlyArray<StartedProgram> => []),
    Effect.flatMap(Effect.forEach(end, { concurrency: "unbounded", discard: true })),
    Effect.withSpan("OrphanedPrograms.end")
  )

/** Keeps the record: call the result whenever a program has started. */
export const makeProgramRecorder = (file: string) =>
  Effect.gen(function* () {
    const record = yield* Ref.make<ReadonlyArray<StartedProgram>>([])
    const serial = yield* Effect.makeSemaphore(1)
    const write = (list: ReadonlyArray<StartedProgram>) =>
      Effect.flatMap(Schema.encode(ProgramRecord)(list), (text) =>
        Effect.promise(async () => {
          await writeFile(`${file}.new`, text, { mode: 0o600 })
          await rename(`${file}.new`, file)
        })
      )
    return (name: string, pid: number): Effect.Effect<void> =>
      Ref.updateAndGet(record, (list) => [
        ...list.filter((started) => started.name !== name),
        { name, pid, birth: readProcessBirth(pid) }
      ]).pipe(Effect.flatMap(write), Effect.orDie, serial.withPermits(1))
  })
