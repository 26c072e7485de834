import { readStartTime, isProcessAlive } from "@berth/infra/process/ProcessIdentity"
import { Data, Deferred, type Duration, Effect, Option, Redacted, Schedule, Schema, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { eventually } from "../support/Eventually.ts"
import { freePort } from "../support/FreePort.ts"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"
import { showLogsOnFailure } from "./RecentLogs.ts"

export const root = fileURLToPath(new URL("../..", import.meta.url))

interface BerthOptions {
  /** A database of the test server. Default: the embedded PostgreSQL. */
  readonly databaseUrl?: Redacted.Redacted
  /** Additional settings. */
  readonly environment?: Readonly<Record<string, string>>
  /** Directory and ports of an earlier start. */
  readonly place?: BerthLocation
  /** `npm` starts as a user does; `node` skips npm and is faster. */
  readonly launcher?: "npm" | "node"
}

export interface BerthLocation {
  readonly dataDirectory: string
  readonly port: number
  readonly backendPort: number
}

interface ProgramExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Process ids of one start. */
export interface BerthPids {
  readonly supervisor: number
  readonly server: number
  readonly worker: number
  /** The embedded database, if any. */
  readonly postgres: Option.Option<number>
}

export interface Berth {
  readonly webUrl: string
  readonly backendUrl: string
  readonly place: BerthLocation
  /** The process that was started: npm or scripts/run.mjs. */
  readonly pid: number
  /** Output so far. */
  readonly logs: Effect.Effect<string>
  readonly pids: Effect.Effect<BerthPids>
  readonly signal: (name: NodeJS.Signals) => Effect.Effect<void>
  /** Signals its process group, as a terminal does for Ctrl-C. */
  readonly signalGroup: (name: NodeJS.Signals) => Effect.Effect<void>
  readonly ended: Effect.Effect<ProgramExit>
  readonly ready: Effect.Effect<void, BerthStartFailed>
}

export class BerthStartFailed extends Data.TaggedError("BerthStartFailed")<{
  readonly logs: string
}> {
  override get message() {
    return `Berth did not start. Its output:\n${this.logs}`
  }
}

/** Repeats a check until it succeeds with true; `eventually` reports failures better. */
export const repeatUntil = <E, R>(
  question: Effect.Effect<boolean, E, R>,
  limit: Duration.DurationInput = "60 seconds"
) => Effect.asVoid(Effect.orDie(eventually(question, (yes) => yes, { description: "the condition", timeout: limit })))

/** Variables of any shell, so that settings of the test run do not reach the programs. */
export const makeShellEnvironment = () =>
  Object.fromEntries(
    ["PATH", "HOME", "TMPDIR", "LANG", "SHELL"].flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    })
  )

const Programs = Schema.parseJson(Schema.Array(Schema.Struct({ name: Schema.String, pid: Schema.Int })))

const firstNumber = (file: string) =>
  Effect.tryPromise(() => readFile(file, "utf8")).pipe(
    Effect.map((text) => Number.parseInt(text, 10)),
    Effect.option
  )

/** Reads the process ids from the files of the supervisor and PostgreSQL. */
const pidsIn = (directory: string) =>
  Effect.gen(function* () {
    const supervisor = yield* firstNumber(join(directory, "supervisor.lock"))
    const text = yield* Effect.promise(() => readFile(join(directory, "programs.json"), "utf8"))
    const programs = yield* Schema.decode(Programs)(text)
    const pidOf = (name: string) => programs.find((program) => program.name === name)?.pid ?? 0
    return {
      supervisor: Option.getOrElse(supervisor, () => 0),
      server: pidOf("server"),
      worker: pidOf("worker"),
      postgres: yield* firstNumber(join(directory, "postgres", "cluster", "postmaster.pid"))
    }
  }).pipe(Effect.orDie)

const answersReady = (url: string) =>
  Effect.tryPromise((signal) => fetch(`${url}/health/ready`, { signal })).pipe(
    Effect.map((response) => response.status === 200),
    Effect.orElseSucceed(() => false)
  )

const kill = (pid: number, name: NodeJS.Signals) =>
  Effect.try(() => process.kill(pid, name)).pipe(
    Effect.catchAll(() => Effect.logDebug(`${pid} was gone before ${name}`)),
    Effect.asVoid
  )

const commands = {
  npm: ["npm", "--silent", "start"],
  node: [process.execPath, "scripts/run.mjs", "start"]
} as const

const launch = (options: BerthOptions, place: BerthLocation) =>
  Effect.gen(function* () {
    const [command, ...args] = commands[options.launcher ?? "node"]
    const ended = yield* Deferred.make<ProgramExit>()
    const output: Array<string> = []
    const child = spawn(command, args, {
      cwd: root,
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        ...makeShellEnvironment(),
        DATA_DIR: place.dataDirectory,
        PORT: String(place.port),
        BACKEND_PORT: String(place.backendPort),
        DRAIN_SECONDS: "10",
        WORKER_DRAIN_SECONDS: "10",
        ...(options.databaseUrl === undefined ? {} : { DATABASE_URL: Redacted.value(options.databaseUrl) }),
        ...options.environment
      }
    })
    child.stdout.setEncoding("utf8").on("data", (text: string) => output.push(text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => output.push(text))
    child.once("exit", (code, signal) => Deferred.unsafeDone(ended, Effect.succeed({ code, signal })))
    return { child, ended, logs: Effect.sync(() => output.join("")) }
  })

/** Stops with SIGTERM, then SIGKILL, so that no test leaves a process. */
const end = (child: ChildProcess, ended: Deferred.Deferred<ProgramExit>, place: BerthLocation) =>
  Effect.gen(function* () {
    const pid = child.pid ?? 0
    const within = (limit: Duration.DurationInput) =>
      Effect.interruptible(Deferred.await(ended)).pipe(Effect.timeoutOption(limit), Effect.map(Option.isSome))
    if (!(yield* Deferred.isDone(ended))) {
      yield* kill(pid, "SIGTERM")
      if (!(yield* within("20 seconds"))) {
        yield* kill(pid, "SIGTERM")
        if (!(yield* within("5 seconds"))) yield* kill(pid, "SIGKILL")
      }
    }
    const left = yield* Effect.option(Effect.sandbox(pidsIn(place.dataDirectory)))
    if (Option.isNone(left)) return
    const { postgres, server, supervisor, worker } = left.value
    for (const one of [supervisor, server, worker]) if (one > 0 && isOurs(one)) yield* kill(one, "SIGKILL")
    if (Option.isSome(postgres) && isProcessAlive(postgres.value)) yield* kill(postgres.value, "SIGQUIT")
  })

/** Process ids are reused: a process older than this test is not one of its programs. */
const isOurs = (pid: number) => isProcessAlive(pid) && Number(readStartTime(pid)) >= Number(readStartTime(process.pid))

const newPlace: Effect.Effect<BerthLocation, never, Scope.Scope> = Effect.gen(function* () {
  return {
    dataDirectory: join(yield* temporaryDirectory, "data"),
    port: yield* freePort,
    backendPort: yield* freePort
  }
})

/** Starts Berth without waiting for readiness; `ready` waits. The scope stops it. */
export const launchBerth = (options: BerthOptions = {}): Effect.Effect<Berth, never, Scope.Scope> =>
  Effect.gen(function* () {
    const place = options.place ?? (yield* newPlace)
    const { child, ended, logs } = yield* Effect.acquireRelease(launch(options, place), (running) =>
      end(running.child, running.ended, place)
    )
    const webUrl = `http://127.0.0.1:${place.port}`
    showLogsOnFailure(`Berth on port ${place.port}`, () => Effect.runSync(logs))
    const failed = Effect.flatMap(logs, (output) => new BerthStartFailed({ logs: output }))
    const pid = child.pid ?? 0
    return {
      webUrl,
      backendUrl: `http://127.0.0.1:${place.backendPort}`,
      place,
      pid,
      logs,
      pids: pidsIn(place.dataDirectory),
      signal: (name) => kill(pid, name),
      signalGroup: (name) => kill(-pid, name),
      ended: Deferred.await(ended),
      ready: Effect.raceFirst(
        answersReady(webUrl).pipe(
          Effect.repeat({ until: (yes) => yes, schedule: Schedule.spaced("50 millis") }),
          Effect.asVoid
        ),
        Effect.zipRight(Deferred.await(ended), failed)
      ).pipe(
        Effect.timeoutOption("90 seconds"),
        Effect.flatMap(Option.match({ onNone: () => failed, onSome: Effect.succeed }))
      )
    } satisfies Berth
  })

/** Starts Berth on free ports and an empty data directory, and returns when it is ready. */
export const startBerth = (options: BerthOptions = {}): Effect.Effect<Berth, BerthStartFailed, Scope.Scope> =>
  Effect.tap(launchBerth(options), (berth) => berth.ready)
