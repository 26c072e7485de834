import { PgClient } from "@effect/sql-pg/PgClient"
import { Data, Deferred, Effect, Redacted, type Scope } from "effect"
import { Socket } from "node:net"
import { Client } from "pg"

/** A dedicated connection ended or could not be established. */
export class DatabaseConnectionLost extends Data.TaggedError("DatabaseConnectionLost")<{
  readonly purpose: string
  readonly cause: unknown
}> {}

interface DedicatedConnection {
  readonly client: Client
  /** Fails after either side has ended the connection. */
  readonly lost: Effect.Effect<never, DatabaseConnectionLost>
  readonly isLost: Effect.Effect<boolean>
  /** Ends the connection at once; pending requests fail. */
  readonly abort: (cause: unknown) => Effect.Effect<void>
  /** Serialized. */
  readonly query: (
    text: string,
    values?: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyArray<unknown>, DatabaseConnectionLost>
}

/**
 * Opens a dedicated connection to the pool's database for session state: LISTEN and session locks. A pooler in
 * transaction mode breaks both.
 */
export const openDedicatedConnection = Effect.fnUntraced(function* (
  purpose: string
): Effect.fn.Return<DedicatedConnection, DatabaseConnectionLost, PgClient | Scope.Scope> {
  const { config } = yield* PgClient
  const failed = (cause: unknown) => new DatabaseConnectionLost({ purpose, cause })
  const lost = yield* Deferred.make<never, DatabaseConnectionLost>()
  const end = (cause: unknown) => Deferred.unsafeDone(lost, Effect.fail(failed(cause)))
  const socket = new Socket()
  const client = yield* Effect.acquireRelease(
    Effect.tryPromise({
      try: async () => {
        const client = new Client({
          connectionString: config.url === undefined ? undefined : Redacted.value(config.url),
          application_name: `${config.applicationName ?? "berth"} ${purpose}`,
          connectionTimeoutMillis: 5000,
          keepAlive: true,
          stream: () => socket
        })
        client.on("error", end)
        client.on("end", () => end("ended"))
        await client.connect()
        return client
      },
      catch: failed
    }),
    (client) =>
      Effect.promise(() => client.end()).pipe(
        Effect.interruptible,
        Effect.timeoutOption("1 second"),
        Effect.ensuring(Effect.sync(() => socket.destroy()))
      )
  )
  const turn = yield* Effect.makeSemaphore(1)
  return {
    client,
    lost: Deferred.await(lost),
    isLost: Deferred.isDone(lost),
    abort: (cause) =>
      Effect.sync(() => {
        end(cause)
        socket.destroy()
      }),
    query: (text, values = []) =>
      turn.withPermits(1)(
        Effect.map(
          Effect.tryPromise({ try: () => client.query<object>(text, [...values]), catch: failed }),
          (result) => result.rows
        )
      )
  }
})
