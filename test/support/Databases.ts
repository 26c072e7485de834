import { Effect, Redacted, Schedule, type Scope } from "effect"
import { randomBytes } from "node:crypto"
import { Client, type ClientConfig, DatabaseError } from "pg"
import { inject } from "vitest"

/** Runs statements sequentially on a connection of the worker: a new connection costs more than most statements. */
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

/** 30 s: a loaded machine closes connections late. */
const whileInUse = { while: isInUse, times: 600, schedule: Schedule.spaced("50 millis") } as const

/**
 * DROP DATABASE waits until every backend of the server has processed a barrier, including a client that stalls during
 * authentication. The test is not at fault: log a warning and leave the database.
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
        // A template cannot be copied while a connection to it is closing.
        Effect.retry(whileInUse),
        Effect.orDie,
        Effect.as(name)
      )
    }),
    drop
  ).pipe(Effect.map(urlOf))

/** URL of an empty database for this scope; dropped with its connections when the scope closes. */
export const freshDatabase: Effect.Effect<Redacted.Redacted, never, Scope.Scope> = database("strategy file_copy")

/** An empty database whose encoding differs from the server's default. */
export const freshDatabaseEncoded = (encoding: "LATIN1" | "SQL_ASCII") =>
  database(`template template0 encoding '${encoding}' locale_provider libc locale 'C'`)

/** A prepared database to copy. */
interface Template<E> {
  /** Letters, digits and underscores. Equal names have equal content during the whole run. */
  readonly name: string
  /** Fills the empty database and closes its connections. */
  readonly prepare: (url: Redacted.Redacted) => Effect.Effect<void, E>
}

/** An advisory lock lets one test file of the run prepare the template; the others wait. */
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

/** Like `freshDatabase`, with the content of a template. FILE_COPY costs half of WAL_LOG. */
export const databaseFromTemplate = <E>(template: Template<E>): Effect.Effect<Redacted.Redacted, E, Scope.Scope> =>
  Effect.suspend(() => {
    const name = known.get(template.name)
    return name === undefined ? prepared(template) : Effect.succeed(name)
  }).pipe(
    Effect.tap((name) => Effect.sync(() => known.set(template.name, name))),
    Effect.flatMap((name) => database(`template "${name}" strategy file_copy`))
  )
