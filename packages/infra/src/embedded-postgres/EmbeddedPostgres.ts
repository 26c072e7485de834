import { Duration, Effect, Option, Redacted, type Scope } from "effect"
import { resolve } from "node:path"
import type { EmbeddedPostgresStartFailed } from "./EmbeddedPostgresErrors.ts"
import * as PostgresBinaries from "./PostgresBinaries.ts"
import * as PostgresDirectory from "./PostgresDirectory.ts"
import * as PostgresInstallation from "./PostgresInstallation.ts"
import { launchWithRetry, type PostgresLaunchOptions, type PostgresServer, startTimeout } from "./PostgresLaunch.ts"
import { isGone, pollUntil, stop } from "./PostgresShutdown.ts"
import * as Postmaster from "./Postmaster.ts"

interface EmbeddedPostgresOptions extends PostgresLaunchOptions {
  /** Directory of the server, created if absent. Only one caller at a time may start a server on it. */
  readonly directory: string
  /** `immediate` stops without a checkpoint, for temporary data. */
  readonly stop?: "fast" | "immediate"
  /** Runs before an empty database is created, which takes about a second. */
  readonly onInitialize?: Effect.Effect<void>
}

export interface RunningPostgres {
  /** URL of the database "postgres", with superuser and password. */
  readonly url: Redacted.Redacted
  readonly port: number
  readonly pid: number
  /** For example "18.4". */
  readonly version: string
  /** Whether the server was already running, left by a killed process. */
  readonly adopted: boolean
  /** Completes when the server process has ended. */
  readonly exited: Effect.Effect<void>
}

/** Adopts a running server of the data directory, left by a killed process. */
const adopt = Effect.fn("EmbeddedPostgres.adopt")(function* (cluster: string, port: number | undefined) {
  const postmaster = yield* Postmaster.readPostmaster(cluster)
  if (Option.isNone(postmaster)) return Option.none<PostgresServer>()
  const { pid } = postmaster.value
  if (!Postmaster.isServerOf(pid, cluster)) return Option.none<PostgresServer>()
  const settled = Effect.zipWith(
    Postmaster.readPostmaster(cluster),
    isGone(pid),
    (now, hasEnded) => hasEnded || Option.exists(now, (it) => it.isReady)
  )
  yield* pollUntil(settled, Duration.millis(25), startTimeout)
  const now = Option.filter(yield* Postmaster.readPostmaster(cluster), (it) => it.pid === pid && it.isReady)
  if (Option.isNone(now) || (yield* isGone(pid))) return Option.none<PostgresServer>()
  if (port !== undefined && now.value.port !== port) {
    yield* stop(pid, "fast")
    return Option.none<PostgresServer>()
  }
  const exited = Effect.repeat(Effect.delay(isGone(pid), Duration.millis(250)), { until: (hasEnded) => hasEnded })
  return Option.some<PostgresServer>({ pid, port: now.value.port, adopted: true, exited: Effect.asVoid(exited) })
})

const adoptOrStart = Effect.fn("EmbeddedPostgres.adoptOrStart")(function* (
  home: PostgresDirectory.PostgresDirectory,
  binaries: PostgresBinaries.PostgresBinaries,
  options: EmbeddedPostgresOptions
) {
  const found = yield* PostgresDirectory.findCluster(home)
  const running = Option.isSome(found) ? yield* adopt(found.value, options.port) : Option.none<PostgresServer>()
  if (Option.isSome(running)) return running.value
  const installation = yield* PostgresInstallation.chooseInstallation(binaries, home.directory, found)
  const cluster = yield* PostgresDirectory.prepareCluster(home, installation, options.onInitialize ?? Effect.void)
  return yield* launchWithRetry(home, installation, cluster, options)
})

/** Uses the socket if there is one, since a statement over it costs a quarter less than over TCP. */
const makeUrl = (home: PostgresDirectory.PostgresDirectory, password: string, port: number) => {
  // The server has no TLS, which `PGSSLMODE` could otherwise require.
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres?sslmode=disable`
  return Redacted.make(
    Postmaster.hasSocket(home.cluster, port) ? `${url}&host=${encodeURIComponent(home.cluster)}` : url
  )
}

/** Returns the URL of a ready server that another process runs on a directory; none without such a server. */
export const findRunning = Effect.fn("EmbeddedPostgres.findRunning")(function* (directory: string) {
  const home = PostgresDirectory.postgresDirectoryAt(resolve(directory))
  const cluster = yield* PostgresDirectory.findCluster(home)
  if (Option.isNone(cluster)) return Option.none<Redacted.Redacted>()
  const found = Option.filter(
    yield* Postmaster.readPostmaster(cluster.value),
    ({ isReady, pid }) => isReady && Postmaster.isServerOf(pid, cluster.value)
  )
  if (Option.isNone(found)) return Option.none<Redacted.Redacted>()
  return Option.some(makeUrl(home, yield* PostgresDirectory.readPassword(home), found.value.port))
})

/** Starts or adopts PostgreSQL on a directory and stops it when the scope closes. The first start creates an empty database. */
export const start = Effect.fnUntraced(function* (
  options: EmbeddedPostgresOptions
): Effect.fn.Return<RunningPostgres, EmbeddedPostgresStartFailed, Scope.Scope> {
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
    url: makeUrl(home, password, server.port)
  }
}, Effect.withSpan("EmbeddedPostgres.start"))
