import { Deferred, Duration, Effect, Option } from "effect"
import { spawn } from "node:child_process"
import { closeSync, openSync, readFileSync, renameSync, statSync } from "node:fs"
import { join } from "node:path"
import { EmbeddedPostgresStartFailed, toStartFailed } from "./EmbeddedPostgresErrors.ts"
import { findBindablePort } from "../net/PortProbe.ts"
import * as PostgresAccount from "./PostgresAccount.ts"
import * as PostgresDirectory from "./PostgresDirectory.ts"
import type * as PostgresInstallation from "./PostgresInstallation.ts"
import { pollUntil, stop } from "./PostgresShutdown.ts"
import * as Postmaster from "./Postmaster.ts"
import { classifyStartFailure, type StartFailure } from "./StartFailure.ts"

export interface PostgresServer {
  readonly pid: number
  readonly port: number
  readonly adopted: boolean
  readonly exited: Effect.Effect<void>
}

export interface PostgresLaunchOptions {
  /** Required port. Absent: the last port if free, else any free port. */
  readonly port?: number
  /** Server settings, for example `{ fsync: "off" }`. */
  readonly settings?: Readonly<Record<string, string>>
}

const maximumLogBytes = 4 * 1024 * 1024
export const startTimeout = Duration.minutes(5)

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

/** A file instead of a pipe, since the server may outlive this process. */
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
    // The data directory, which other accounts cannot read.
    unix_socket_directories: ".",
    // For an SSD, or data in memory.
    random_page_cost: "1.1",
    timezone: "UTC",
    log_timezone: "UTC",
    // Details of a failed statement quote rows.
    log_error_verbosity: "terse",
    log_min_error_statement: "panic",
    ...settings
  }).flatMap(([name, value]) => ["-c", `${name}=${value}`])
]

const launch = Effect.fn("PostgresLaunch.launch")(function* (
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
    // Detached, since Ctrl-C at the terminal must not stop the database before its clients have drained.
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
    return { pid, port, adopted: false, exited: Deferred.await(exited) } satisfies PostgresServer
  }
  if (!(yield* Deferred.isDone(exited))) yield* stop(pid, "immediate")
  return classifyStartFailure(yield* logSince(home, log.from))
})

/**
 * Retries until an earlier server releases the data or the port, and after an incomplete recovery; without a required
 * port, chooses another.
 */
export const launchWithRetry = (
  home: PostgresDirectory.PostgresDirectory,
  installation: PostgresInstallation.PostgresInstallation,
  cluster: string,
  options: PostgresLaunchOptions
) => {
  const attempt = (
    left: number,
    settings: Readonly<Record<string, string>>
  ): Effect.Effect<PostgresServer, EmbeddedPostgresStartFailed> =>
    Effect.gen(function* () {
      const port = yield* choosePort(home, options.port)
      const outcome: PostgresServer | StartFailure = yield* launch(home, installation, cluster, port, settings)
      if (!("_tag" in outcome)) return outcome
      if (outcome._tag === "Other" || left <= 0) {
        return yield* new EmbeddedPostgresStartFailed({ reason: `${outcome.message} (its log is ${home.log})` })
      }
      yield* Effect.logDebug(`PostgreSQL start is retried: ${outcome.message}`)
      const next = outcome._tag === "SocketRefused" ? { ...settings, unix_socket_directories: "" } : settings
      return yield* Effect.delay(attempt(left - 1, next), Duration.millis(250))
    })
  return attempt(80, options.settings ?? {})
}
