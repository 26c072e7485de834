import { start } from "@berth/infra/embedded-postgres/EmbeddedPostgres"
import { Effect, Exit, Option, Redacted, Scope } from "effect"
import { join } from "node:path"
import { Client } from "pg"
import type { TestProject } from "vitest/node"
import { stopDaemon } from "./DaemonEnd.ts"
import { startRedis } from "./RedisServer.ts"
import {
  databaseDirectory,
  removeOwnDirectories,
  removeStaleDirectories,
  temporaryDirectory
} from "./TemporaryDirectories.ts"

declare module "vitest" {
  export interface ProvidedContext {
    /** A database of the run's PostgreSQL server; its role can create databases. */
    readonly databaseUrl: string
    /** The run's Redis; empty if none is given and redis-server is not on the PATH. */
    readonly redisUrl: string
    /** Directory of the run's Docker daemon, started by the first test that requires it. */
    readonly dockerDirectory: string
  }
}

/**
 * No durability: the data is not needed after a crash. A short authentication timeout: a client that stalls during
 * authentication delays DROP DATABASE.
 */
const settings = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  max_connections: "300",
  // Autovacuum would visit every test database once a minute.
  autovacuum: "off",
  authentication_timeout: "10s"
}

const setting = (name: string) => Option.filter(Option.fromNullable(process.env[name]), (value) => value.trim() !== "")

/** Password authentication hashes once instead of 4,096 times (SCRAM), over thousands of connections. */
const simplifySignIn = (url: string) =>
  Effect.promise(async () => {
    const client = new Client({ connectionString: url })
    await client.connect()
    await client.query("set scram_iterations = 1")
    await client.query(`alter role postgres password ${client.escapeLiteral(new URL(url).password)}`)
    const { rows } = await client.query<{ hba_file: string }>("show hba_file")
    const file = client.escapeLiteral(rows[0]?.hba_file ?? "")
    await client.query(`copy (values ('local all all password'), ('host all all 127.0.0.1/32 password')) to ${file}`)
    await client.query("select pg_reload_conf()")
    await client.end()
  })

/** `DATABASE_URL`, whose role must have CREATEDB, or a server of this run. */
const postgres = Option.match(setting("DATABASE_URL"), {
  onSome: Effect.succeed,
  onNone: () =>
    databaseDirectory.pipe(
      Effect.flatMap((directory) => start({ directory: join(directory, "postgres"), settings, stop: "immediate" })),
      Effect.map(({ url }) => Redacted.value(url)),
      Effect.tap(simplifySignIn)
    )
})

const redis = (directory: string) =>
  Option.match(setting("REDIS_URL"), { onSome: Effect.succeed, onNone: () => startRedis(directory) })

const services = Effect.gen(function* () {
  yield* removeStaleDirectories
  const directory = yield* temporaryDirectory
  const [databaseUrl, redisUrl] = yield* Effect.all([postgres, redis(directory)], {
    concurrency: "unbounded"
  })
  const dockerDirectory = join(directory, "docker")
  yield* Effect.addFinalizer(() => Effect.sync(() => stopDaemon(dockerDirectory)))
  return { databaseUrl, dockerDirectory, redisUrl }
})

/** An interrupted run (Ctrl-C) has no teardown. Prepended: no listener runs after that of vitest. */
const endWithRun = () => process.prependOnceListener("exit", removeOwnDirectories)

/** One PostgreSQL server and, if installed, one Redis server for the whole run. */
export default async function setup(project: TestProject) {
  const scope = Effect.runSync(Scope.make())
  const { databaseUrl, dockerDirectory, redisUrl } = await Effect.runPromise(Scope.extend(services, scope)).catch(
    async (cause) => {
      await Effect.runPromise(Scope.close(scope, Exit.void))
      throw cause
    }
  )
  endWithRun()
  project.provide("databaseUrl", databaseUrl)
  project.provide("redisUrl", redisUrl)
  project.provide("dockerDirectory", dockerDirectory)
  return () => Effect.runPromise(Scope.close(scope, Exit.void))
}
