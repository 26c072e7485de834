import { Config, Context, Effect, Layer, Option, Redacted, type Scope } from "effect"
import { randomBytes } from "node:crypto"
import { Client } from "pg"

export interface FreshStorage {
  /** Absent for the embedded PostgreSQL. */
  readonly databaseUrl: Option.Option<Redacted.Redacted>
  readonly environment: Readonly<Record<string, string>>
}

/** Creates empty storage for each measured service. */
export class Storage extends Context.Tag("@berth/bench/Storage")<
  Storage,
  { readonly name: string; readonly fresh: Effect.Effect<FreshStorage, never, Scope.Scope> }
>() {}

/** The default: embedded PostgreSQL, no Redis. */
export const embeddedStorage: Layer.Layer<Storage> = Layer.succeed(Storage, {
  name: "embedded PostgreSQL",
  fresh: Effect.succeed({ databaseUrl: Option.none(), environment: {} })
})

const administer = (url: Redacted.Redacted, statement: string) =>
  Effect.promise(async () => {
    const client = new Client({ connectionString: Redacted.value(url) })
    await client.connect()
    try {
      await client.query(statement)
    } finally {
      await client.end()
    }
  })

const freshDatabase = (server: Redacted.Redacted) =>
  Effect.acquireRelease(
    Effect.suspend(() => {
      const name = `bench_${randomBytes(6).toString("hex")}`
      return Effect.as(administer(server, `create database ${name}`), name)
    }),
    (name) => administer(server, `drop database if exists ${name} with (force)`)
  ).pipe(
    Effect.map((name) => {
      const url = new URL(Redacted.value(server))
      url.pathname = `/${name}`
      return Redacted.make(url.href)
    })
  )

/** Temporary databases on the server of DATABASE_URL (the role needs CREATEDB), and the Redis of REDIS_URL. */
export const configuredStorage = Layer.effect(
  Storage,
  Effect.gen(function* () {
    const { redisUrl, server } = yield* Config.all({
      server: Config.redacted(Config.nonEmptyString("DATABASE_URL")),
      redisUrl: Config.redacted(Config.nonEmptyString("REDIS_URL"))
    })
    return {
      name: "PostgreSQL of DATABASE_URL and Redis of REDIS_URL",
      fresh: Effect.map(freshDatabase(server), (url) => ({
        databaseUrl: Option.some(url),
        environment: { REDIS_URL: Redacted.value(redisUrl) }
      }))
    }
  })
)
