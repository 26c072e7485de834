import { JobQueue, type QueueUnavailable } from "@berth/domain/jobs/JobQueue"
import {
  PostgresConnection,
  type PostgresConnectionOptions,
  PostgresQueueBackend,
  Queue,
  runMigrations,
  Worker
} from "bullmq"
import { Clock, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import pg from "pg"
import { makeBullmqJobQueue } from "./BullmqJobQueue.ts"
import { IdleTimeoutSocket } from "../postgres/IdleTimeoutSocket.ts"
import { type BullmqSettings, callStore } from "./BullmqStore.ts"
import { makeStoreErrorLog } from "./StoreErrorLog.ts"

type ListenClient = Awaited<ReturnType<PostgresConnection["getListenClient"]>>

/**
 * Connection of a worker. BullMQ removes all listeners before it ends the client; an error in between would end the
 * process.
 */
class ListeningConnection extends PostgresConnection {
  readonly #logError: (error: Error) => void
  #client: ListenClient | undefined

  constructor(options: PostgresConnectionOptions, logError: (error: Error) => void) {
    super(options)
    this.#logError = logError
  }

  override async getListenClient(): Promise<ListenClient> {
    this.#client = await super.getListenClient()
    return this.#client
  }

  override close(): Promise<void> {
    const closed = super.close()
    this.#client?.on("error", this.#logError)
    return closed
  }
}

interface PostgresJobQueueOptions extends BullmqSettings {
  readonly url: Redacted.Redacted
  /** Schema of the tables; created if absent. */
  readonly schema: string
}

/** Separate from the ends of jobs, since each of their transactions would search for old jobs. */
const retention = { keepCompleted: { age: "1 hour" }, cleanupInterval: "1 minute" } as const

/** A crash of the server can lose the last states of jobs, which then run again. Added jobs are durable. */
const noWaitForDisk = { options: "-c synchronous_commit=off" }

/** In milliseconds. Without it, a silently lost connection would block its worker for minutes. */
const silence = { connect: 5000, answer: 15_000 }

const largestSkewSeconds = 2

const connectionsToAdd = 2
const connectionsToWork = 2

/** Jobs in PostgreSQL: up to two connections, plus up to three per consumed queue, one of them for LISTEN. */
export const layer = (options: PostgresJobQueueOptions): Layer.Layer<JobQueue, QueueUnavailable> => {
  const { schema } = options
  const connectTo = (max: number) => ({
    connectionString: Redacted.value(options.url),
    application_name: "berth queues",
    schema,
    max,
    connectionTimeoutMillis: 5000,
    keepAlive: true,
    stream: () => new IdleTimeoutSocket(silence)
  })
  return Layer.scoped(
    JobQueue,
    Effect.gen(function* () {
      // BullMQ does not migrate by itself, and a worker without tables loops without yielding.
      yield* migrate(options)
      const logStoreError = yield* makeStoreErrorLog("Queue store failed", { schema })
      // One pool for all queues saves connections.
      const connection = yield* Effect.acquireRelease(
        Effect.sync(() => new PostgresConnection(connectTo(connectionsToAdd)).on("error", logStoreError)),
        (connection) =>
          Effect.tryPromise(() => connection.close()).pipe(
            Effect.interruptible,
            Effect.timeout("5 seconds"),
            Effect.catchAll((error) => Effect.logWarning("Queue connections not closed", error))
          )
      )
      // BullMQ caches the first result permanently, so it must be a success.
      yield* callStore("connect", () => connection.waitUntilReady())
      yield* Effect.forkScoped(Effect.repeat(compareClocks(connection), Schedule.spaced("1 minute")))
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
              { ...settings, connection: { ...connectTo(connectionsToWork), ...noWaitForDisk } },
              (queue, workerOptions) =>
                new PostgresQueueBackend(
                  new ListeningConnection(workerOptions.connection, logStoreError),
                  queue,
                  workerOptions,
                  true,
                  queue
                )
            )
        },
        { ...retention, ...options }
      )
    })
  )
}

const Now = Schema.Tuple(Schema.Struct({ now: Schema.Number }))

/**
 * Locks of jobs expire by the clocks of workers: a clock that is ahead by half of a lock's duration takes the jobs of
 * live workers.
 */
const compareClocks = Effect.fnUntraced(
  function* (connection: PostgresConnection) {
    const before = yield* Clock.currentTimeMillis
    const { rows } = yield* callStore("read the clock", () =>
      connection.pool.query("select (extract(epoch from clock_timestamp()) * 1000)::float8 as now")
    )
    const [{ now }] = yield* Schema.decodeUnknown(Now)(rows)
    const seconds = ((before + (yield* Clock.currentTimeMillis)) / 2 - now) / 1000
    if (Math.abs(seconds) > largestSkewSeconds)
      yield* Effect.logError("Clock differs from that of the database, synchronize both").pipe(
        Effect.annotateLogs({ aheadSeconds: Math.round(seconds) })
      )
  },
  Effect.catchAll((error) => Effect.logWarning("Clock not compared", error)),
  Effect.withTracerEnabled(false)
)

/** Migrates the schema; safe in concurrent processes. */
const migrate = ({ schema, url }: PostgresJobQueueOptions) =>
  Effect.acquireUseRelease(
    callStore("connect", async () => {
      const client = new pg.Client({ connectionString: Redacted.value(url), connectionTimeoutMillis: 5000 })
      // Without a listener, a lost connection would end the process.
      client.on("error", () => {})
      await client.connect()
      return client
    }),
    (client) =>
      // Another process may be migrating.
      callStore("migrate", () => runMigrations(client, schema), "1 minute"),
    (client) =>
      Effect.tryPromise(() => client.end()).pipe(
        Effect.interruptible,
        Effect.timeout("2 seconds"),
        Effect.catchAll((error) => Effect.logWarning("Migration connection not closed", error))
      )
  )
