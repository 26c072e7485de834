import { JobQueue, type QueueUnavailable } from "@berth/domain/jobs/JobQueue"
import {
  PostgresConnection,
  type PostgresConnectionOptions,
  PostgresQueueBackend,
  Queue,
  runMigrations,
  Worker
} from "bullmq"
import { Effect, Layer, Redacted } from "effect"
import pg from "pg"
import { makeBullmqJobQueue } from "./BullmqJobQueue.ts"
import { callStore, type BullmqSettings } from "./BullmqStore.ts"
import { ListeningConnection } from "./ListeningConnection.ts"
import { makeStoreErrorLog } from "./StoreErrorLog.ts"

export interface PostgresJobQueueOptions extends BullmqSettings {
  readonly url: Redacted.Redacted
  /** The schema that holds the queues' tables; made when it is missing. */
  readonly schema: string
}

const connectionsToAdd = 2
const connectionsToWork = 2

/**
 * Jobs in PostgreSQL: up to two connections (none while nothing is asked of it), and for each queue that is worked on up to two
 * more and one that listens.
 */
export const layer = (options: PostgresJobQueueOptions): Layer.Layer<JobQueue, QueueUnavailable> => {
  const { schema } = options
  const connectTo = (max: number) => ({
    connectionString: Redacted.value(options.url),
    application_name: "berth queues",
    schema,
    max,
    connectionTimeoutMillis: 5000,
    keepAlive: true
  })
  return Layer.scoped(
    JobQueue,
    Effect.gen(function* () {
      // BullMQ never migrates by itself, and a worker on a schema without tables spins without yielding.
      yield* migrate(options)
      const troubled = yield* makeStoreErrorLog("The queues have trouble with their store", { schema })
      // One connection pool for all queues: each of its own would take as many connections again.
      const connection = yield* Effect.acquireRelease(
        Effect.sync(() => new PostgresConnection(connectTo(connectionsToAdd)).on("error", troubled)),
        (connection) =>
          Effect.tryPromise(() => connection.close()).pipe(
            Effect.interruptible,
            Effect.timeout("5 seconds"),
            Effect.catchAll((error) => Effect.logWarning("The queues' connections did not close", error))
          )
      )
      // BullMQ remembers the first answer for good, so it must be a yes before anything else asks.
      yield* callStore("connect", () => connection.waitUntilReady())
      return yield* makeBullmqJobQueue<PostgresQueueBackend, PostgresConnectionOptions>(
        {
          queue: (name, settings) =>
            new Queue(
              name,
              { ...settings, connection: connectTo(connectionsToAdd) },
              (queue, queueOptions) => new PostgresQueueBackend(connection, queue, queueOptions, false)
            ),
          worker: (name, process, settings) =>
            new Worker(
              name,
              process,
              { ...settings, connection: connectTo(connectionsToWork) },
              (queue, workerOptions) =>
                new PostgresQueueBackend(
                  new ListeningConnection(workerOptions.connection, troubled),
                  queue,
                  workerOptions,
                  true,
                  queue
                )
            )
        },
        options
      )
    })
  )
}

/** Brings the schema up to date; safe when several processes do so at once. */
const migrate = ({ schema, url }: PostgresJobQueueOptions) =>
  Effect.acquireUseRelease(
    callStore("connect", async () => {
      const client = new pg.Client({ connectionString: Redacted.value(url), connectionTimeoutMillis: 5000 })
      // A connection that breaks fails the query under way; without a listener it would end the process.
      client.on("error", () => {})
      await client.connect()
      return client
    }),
    (client) =>
      // Another process may be at it.
      callStore("migrate", () => runMigrations(client, schema), "1 minute"),
    (client) =>
      Effect.tryPromise(() => client.end()).pipe(
        Effect.interruptible,
        Effect.timeout("2 seconds"),
        Effect.catchAll((error) => Effect.logWarning("The migration's connection did not close", error))
      )
  )
