import { Deferred, Duration, Effect, Option, Redacted, type Scope } from "effect"
import { spawn } from "node:child_process"
import { closeSync, openSync, readFileSync, renameSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { EmbeddedPostgresStartFailed, toStartFailed } from "./EmbeddedPostgresErrors.ts"
import { findBindablePort } from "../net/PortProbe.ts"
import { isProcessAlive } from "../process/ProcessIdentity.ts"
import * as PostgresAccount from "./PostgresAccount.ts"
import * as PostgresBinaries from "./PostgresBinaries.ts"
import * as PostgresDirectory from "./PostgresDirectory.ts"
import * as PostgresInstallation from "./PostgresInstallation.ts"
import * as Postmaster from "./Postmaster.ts"
import { type StartFailure, classifyStartFailure } from "./StartFailure.ts"

export interface EmbeddedPostgresOptions {
  /** The server's directory, created when missing. Only one caller at a time may start a server on it. */
  readonly directory: string
  /** A required port. Absent: the last port while it is free, else any free one. */
  readonly port?: number
  /** Server settings, for example `{ fsync: "off" }`. */
  readonly settings?: Readonly<Record<string, string>>
  /** `immediate` stops without a checkpoint, for data that is discarded. */
  readonly stop?: "fast" | "immediate"
  /** Runs before an empty database is created, which takes about a second. */
  readonly onInitialize?: Effect.Effect<void>
}

export interface RunningPostgres {
  /** The database "postgres" as superuser, with the password. */
  readonly url: Redacted.Redacted
  readonly port: number
  readonly pid: number
  /** For example "18.4". */
  readonly version: string
  /** It ran already, left by a killed process. */
  readonly adopted: boolean
  /** Completes when the server process has ended. */
  readonly exited: Effect.Effect<void>
}

interface Server {
  readonly pid: number
  readonly port: number
  readonly adopted: boolean
  readonly exited: Effect.Effect<void>
}

const maximumLogBytes = 4 * 1024 * 1024
const startTimeout = Duration.minutes(5)
const stopTimeout = Duration.seconds(60)

/** Repeats `check` until it holds or the limit has passed, and returns whether it held. Works in finalizers, unlike timeouts. */
const pollUntil = (
  check: Effect.Effect<boolean>,
  every: Duration.Duration,
  limit: Duration.Duration
): Effect.Effect<boolean> =>
  Effect.suspend(() => {
    const rounds = Math.ceil(Duration.toMillis(limit) / Duration.toMillis(every))
    const round = (left: number): Effect.Effect<boolean> =>
      Effect.flatMap(check, (holds) =>
        holds || left <= 0 ? Effect.succeed(holds) : Effect.zipRight(Effect.sleep(every), round(left - 1))
      )
    return round(rounds)
  })

const isGone = (pid: number) => Effect.sync(() => !isProcessAlive(pid))

const signal = (pid: number, name: NodeJS.Signals) =>
  Effect.try(() => process.kill(pid, name)).pipe(
    Effect.catchAll(() => Effect.logDebug(`PostgreSQL (${pid}) exited before ${name}`)),
    Effect.asVoid
  )

/** Stops the server: fast shutdown, then immediate, then SIGKILL. */
const stop = Effect.fn("EmbeddedPostgres.stop")(function* (pid: number, mode: "fast" | "immediate") {
  const every = Duration.millis(15)
  if (mode === "fast") {
    yield* signal(pid, "SIGINT")
    if (yield* pollUntil(isGone(pid), every, stopTimeout)) return
    yield* Effect.logWarning("PostgreSQL did not stop in time and is stopped without a checkpoint")
  }
  yield* signal(pid, "SIGQUIT")
  if (yield* pollUntil(isGone(pid), every, Duration.seconds(10))) return
  yield* signal(pid, "SIGKILL")
})

const findLoopbackPort = (port: number) => findBindablePort(port, "127.0.0.1")

const choosePort = (home: PostgresDirectory.PostgresDirectory, fixed: number | undefined) =>
  fixed !== undefined
    ? Effect.succeed(fixed)
    : PostgresDirectory.readSavedPort(home).pipe(
        Effect.flatMap(Option.match({ onNone: () => Effect.succeedNone, onSome: findLoopbackPort })),
        Effect.flatMap(Option.match({ onNone: () => findLoopbackPort(0), onSome: Effect.succeedSome })),
        Effect.flatten,
        Effect.mapError(() => new EmbeddedPostgresStartFailed({ reason: "no port is free on 127.0.0.1" }))
      )

/** A file, not a pipe: the server may outlive this process. */
const openLog = (home: PostgresDirectory.PostgresDirectory) =>
  Effect.try({
    try: () => {
      const size = statSync(home.log, { throwIfNoEntry: false })?.size ?? 0
      if (size > maximumLogBytes) renameSync(home.log, `${home.log}.old`)
      return { file: openSync(home.log, "a", 0o600), from: size > maximumLogBytes ? 0 : size }
    },
    catch: toStartFailed(`opening ${home.log}`)
  })

const logSince = (home: PostgresDirectory.PostgresDirectory, from: number) =>
  Effect.try({
    try: () => readFileSync(home.log).subarray(from).toString("utf8").trim(),
    catch: toStartFailed(`reading ${home.log}`)
  })

const postgresArguments = (cluster: string, port: number, settings: Readonly<Record<string, string>>) => [
  "-D",
  cluster,
  "-p",
  String(port),
  ...Object.entries({
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    timezone: "UTC",
    log_timezone: "UTC",
    // The details of a failed statement quote rows.
    log_error_verbosity: "terse",
    log_min_error_statement: "panic",
    ...settings
  }).flatMap(([name, value]) => ["-c", `${name}=${value}`])
]

const launch = Effect.fn("EmbeddedPostgres.launch")(function* (
  home: PostgresDirectory.PostgresDirectory,
  installation: PostgresInstallation.PostgresInstallation,
  cluster: string,
  port: number,
  settings: Readonly<Record<string, string>>
) {
  const log = yield* openLog(home)
  const exited = yield* Deferred.make<void>()
  const call = PostgresAccount.makeInvocation(
    installation.account,
    join(installation.native, "bin", "postgres"),
    postgresArguments(cluster, port, settings)
  )
  const child = yield* Effect.try({
    // Detached: Ctrl-C at the terminal must not stop the database before its clients have drained.
    try: () =>
      spawn(call.command, call.args, {
        ...call.ids,
        cwd: "/",
        env: PostgresAccount.postgresEnvironment,
        detached: true,
        stdio: ["ignore", log.file, log.file]
      }),
    catch: toStartFailed("running postgres")
  }).pipe(Effect.ensuring(Effect.sync(() => closeSync(log.file))))
  child.once("error", () => Deferred.unsafeDone(exited, Effect.void))
  child.once("exit", () => Deferred.unsafeDone(exited, Effect.void))
  child.unref()
  const pid = child.pid ?? 0
  const isReady = Effect.map(
    Postmaster.readPostmaster(cluster),
    Option.exists((postmaster) => postmaster.pid === pid && postmaster.isReady)
  )
  yield* pollUntil(
    Effect.zipWith(isReady, Deferred.isDone(exited), (ready, gone) => ready || gone),
    Duration.millis(10),
    startTimeout
  )
  if ((yield* isReady) && !(yield* Deferred.isDone(exited))) {
    return { pid, port, adopted: false, exited: Deferred.await(exited) } satisfies Server
  }
  if (!(yield* Deferred.isDone(exited))) yield* stop(pid, "immediate")
  return classifyStartFailure(yield* logSince(home, log.from))
})

/** Retries while an earlier server releases the data or the port; without a required port, chooses another. */
const launchWithRetry = (
  home: PostgresDirectory.PostgresDirectory,
  installation: PostgresInstallation.PostgresInstallation,
  cluster: string,
  options: EmbeddedPostgresOptions
) => {
  const attempt = (left: number): Effect.Effect<Server, EmbeddedPostgresStartFailed> =>
    Effect.gen(function* () {
      const port = yield* choosePort(home, options.port)
      const outcome: Server | StartFailure = yield* launch(home, installation, cluster, port, options.settings ?? {})
      if (!("_tag" in outcome)) return outcome
      if (outcome._tag === "Other" || left <= 0) {
        return yield* new EmbeddedPostgresStartFailed({ reason: `${outcome.message} (its log is ${home.log})` })
      }
      yield* Effect.logDebug(`PostgreSQL start is retried: ${outcome.message}`)
      return yield* Effect.delay(attempt(left - 1), Duration.millis(250))
    })
  return attempt(80)
}

/** Adopts a server that runs on the data directory, left by a killed process. */
const adopt = Effect.fn("EmbeddedPostgres.adopt")(function* (cluster: string, port: number | undefined) {
  const found = yield* Postmaster.readPostmaster(cluster)
  if (Option.isNone(found)) return Option.none<Server>()
  const { pid } = found.value
  if (!Postmaster.isServerOf(pid, cluster)) return Option.none<Server>()
  const settled = Effect.zipWith(
    Postmaster.readPostmaster(cluster),
    isGone(pid),
    (now, gone) => gone || Option.exists(now, (it) => it.isReady)
  )
  yield* pollUntil(settled, Duration.millis(25), startTimeout)
  const now = Option.filter(yield* Postmaster.readPostmaster(cluster), (it) => it.pid === pid && it.isReady)
  if (Option.isNone(now) || (yield* isGone(pid))) return Option.none<Server>()
  if (port !== undefined && now.value.port !== port) {
    yield* stop(pid, "fast")
    return Option.none<Server>()
  }
  const exited = Effect.repeat(Effect.delay(isGone(pid), Duration.millis(250)), { until: (gone) => gone })
  return Option.some<Server>({ pid, port: now.value.port, adopted: true, exited: Effect.asVoid(exited) })
})

const adoptOrStart = Effect.fn("EmbeddedPostgres.adoptOrStart")(function* (
  home: PostgresDirectory.PostgresDirectory,
  binaries: PostgresBinaries.PostgresBinaries,
  options: EmbeddedPostgresOptions
) {
  const found = yield* PostgresDirectory.findCluster(home)
  const running = Option.isSome(found) ? yield* adopt(found.value, options.port) : Option.none<Server>()
  if (Option.isSome(running)) return running.value
  const installation = yield* PostgresInstallation.chooseInstallation(binaries, home.directory, found)
  const cluster = yield* PostgresDirectory.prepareCluster(home, installation, options.onInitialize ?? Effect.void)
  return yield* launchWithRetry(home, installation, cluster, options)
})

/** Starts or adopts PostgreSQL on a directory and stops it when the scope closes. The first start creates an empty database. */
export const start = (
  options: EmbeddedPostgresOptions
): Effect.Effect<RunningPostgres, EmbeddedPostgresStartFailed, Scope.Scope> =>
  Effect.gen(function* () {
    const home = yield* PostgresDirectory.make(resolve(options.directory))
    const binaries = yield* PostgresBinaries.locateBinaries
    const server = yield* Effect.acquireRelease(adoptOrStart(home, binaries, options), ({ pid }) =>
      stop(pid, options.stop ?? "fast")
    )
    const password = yield* PostgresDirectory.readPassword(home)
    yield* PostgresDirectory.savePort(home, server.port)
    return {
      ...server,
      version: binaries.version,
      url: Redacted.make(`postgres://postgres:${password}@127.0.0.1:${server.port}/postgres`)
    }
  }).pipe(Effect.withSpan("EmbeddedPostgres.start"))
