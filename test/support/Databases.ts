import { Effect, Redacted, Schedule, type Scope } from "effect"
import { randomBytes } from "node:crypto"
import { Client, type ClientConfig, DatabaseError } from "pg"
import { inject } from "vitest"

/** Runs statements, one at a time, on a connection that the worker keeps: opening one costs more than most statements. */
const makeConnection = (options: ClientConfig) => {
  let opened: Promise<Client> | undefined
  const forget = () => (opened = undefined)
  const open = async () => {
    const client = new Client({ connectionString: inject("databaseUrl"), ...options })
    client.on("error", forget)
    await client.connect()
    return client
  }
  return (statement: string) =>
    Effect.tryPromise(async () => {
      opened ??= open()
      const client = await opened.catch((cause) => {
        forget()
        throw cause
      })
      await client.query(statement)
    })
}

const create = makeConnection({})
const remove = makeConnection({ statement_timeout: 20_000 })

const urlOf = (database: string) => {
  const url = new URL(inject("databaseUrl"))
  url.pathname = `/${database}`
  return Redacted.make(url.href)
}

const codeOf = (error: { readonly error: unknown }) =>
  error.error instanceof DatabaseError ? error.error.code : undefined

const isInUse = (error: { readonly error: unknown }) => codeOf(error) === "55006"

/** Half a minute: a machine with much to do lets go late. */
const whileInUse = { while: isInUse, times: 600, schedule: Schedule.spaced("50 millis") } as const

/**
 * A drop waits until every connection of the server has heard of it, also those of others, and one whose client says nothing
 * in the middle of signing in hears nothing. That is no fault of the test that ends: it says so and leaves its database.
 */
const drop = (database: string) =>
  remove(`drop database if exists "${database}" with (force)`).pipe(
    Effect.retry(whileInUse),
    Effect.catchIf(
      (error) => codeOf(error) === "57014",
      () => Effect.logWarning(`${database} could not be dropped: a connection to the server does not listen`)
    ),
    Effect.orDie
  )

const database = (from: string) =>
  Effect.acquireRelease(
    Effect.suspend(() => {
      const name = `test_${randomBytes(8).toString("hex")}`
      return create(`create database "${name}" ${from}`).pipe(
        // A template cannot be copied while somebody's connection to it is still closing.
        Effect.retry(whileInUse),
        Effect.orDie,
        Effect.as(name)
      )
    }),
    drop
  ).pipe(Effect.map(urlOf))

/** The URL of an empty database that only this scope has; it is dropped, whoever is still connected, when the scope closes. */
export const freshDatabase: Effect.Effect<Redacted.Redacted, never, Scope.Scope> = database("strategy file_copy")

/** An empty database with another encoding than the server's default. */
export const freshDatabaseEncoded = (encoding: "LATIN1" | "SQL_ASCII") =>
  database(`template template0 encoding '${encoding}' locale_provider libc locale 'C'`)

/** A prepared database that others are copied from. */
export interface Template<E> {
  /** Letters, digits and underscores; the same name means the same content for the whole run. */
  readonly name: string
  /** Fills the empty database, and leaves no connection open. */
  readonly prepare: (url: Redacted.Redacted) => Effect.Effect<void, E>
}

/** Only one test file of the run prepares a template, the others wait for it: an advisory lock is held meanwhile. */
const prepared = <E>(template: Template<E>) =>
  Effect.acquireUseRelease(
    Effect.promise(async () => {
      const client = new Client({ connectionString: inject("databaseUrl") })
      await client.connect()
      await client.query("select pg_advisory_lock(hashtext($1))", [template.name])
      return client
    }),
    (client) =>
      Effect.gen(function* () {
        const name = `template_${template.name}`
        const found = yield* Effect.promise(() => client.query("select from pg_database where datname = $1", [name]))
        if (found.rowCount !== 0) return name
        const draft = `draft_${template.name}`
        yield* Effect.promise(() => client.query(`drop database if exists "${draft}" with (force)`))
        yield* Effect.promise(() => client.query(`create database "${draft}"`))
        yield* template.prepare(urlOf(draft))
        yield* Effect.tryPromise(() => client.query(`alter database "${draft}" rename to "${name}"`)).pipe(
          Effect.retry(whileInUse),
          Effect.orDie
        )
        return name
      }),
    (client) => Effect.promise(() => client.end())
  )

/** Templates that this worker has seen prepared. */
const known = new Map<string, string>()

/** Like `freshDatabase`, with the content of a template, prepared once in a run. A copy of files costs half of a logged one. */
export const databaseFromTemplate = <E>(template: Template<E>): Effect.Effect<Redacted.Redacted, E, Scope.Scope> =>
  Effect.suspend(() => {
    const name = known.get(template.name)
    return name === undefined ? prepared(template) : Effect.succeed(name)
  }).pipe(
    Effect.tap((name) => Effect.sync(() => known.set(template.name, name))),
    Effect.flatMap((name) => database(`template "${name}" strategy file_copy`))
  )
