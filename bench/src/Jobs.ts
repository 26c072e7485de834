import { JobQueue } from "@berth/domain/jobs/JobQueue"
import * as PostgresJobQueue from "@berth/infra/queue/PostgresJobQueue"
import * as RedisJobQueue from "@berth/infra/queue/RedisJobQueue"
import { startRedis } from "@berth/test/support/RedisServer"
import { temporaryDirectory } from "@berth/test/support/TemporaryDirectories"
import {
  createPostgresBackend,
  type PostgresConnectionOptions,
  Queue,
  runMigrations,
  withBackend,
  Worker
} from "bullmq"
import { Clock, Context, Deferred, Duration, Effect, Layer, Redacted, type Scope } from "effect"
import { randomBytes } from "node:crypto"
import pg from "pg"
import { hostBerth } from "./berth/HostedBerth.ts"
import { type Latencies, median, summarizeLatencies } from "./measure/Latencies.ts"
import { formatFigure } from "./report/Figure.ts"
import type { Scenario } from "./Scenario.ts"

const concurrency = 5
/** Wake-ups of an idle worker, one after another. */
const wakeUps = 200
const aims = { ratio: 0.9, wakeUpMs: 5 }
const works = [
  { name: "no-op", run: Effect.void },
  { name: "5 ms", run: Effect.sleep("5 millis") }
] as const

/** An empty queue whose consumer runs until the scope closes. */
interface OpenQueue {
  readonly add: (id: string) => Effect.Effect<unknown, Error>
  readonly consume: (handle: Effect.Effect<void>) => Effect.Effect<void, Error, Scope.Scope>
}
interface Contestant {
  readonly name: string
  readonly open: Effect.Effect<OpenQueue, Error, Scope.Scope>
}

const newPrefix = Effect.sync(() => `bench${randomBytes(4).toString("hex")}`)

type AddedQueue = Pick<Queue<unknown, void, string>, "close"> & {
  readonly add: (name: string, data: object, options: { readonly jobId: string }) => Promise<unknown>
}

const bare = (
  name: string,
  make: (namespace: string) => Effect.Effect<
    {
      readonly queue: AddedQueue
      readonly work: (process: () => Promise<void>) => Pick<Worker, "close">
    },
    Error
  >
): Contestant => ({
  name,
  open: Effect.gen(function* () {
    const { queue, work } = yield* Effect.acquireRelease(Effect.flatMap(newPrefix, make), (made) =>
      Effect.promise(() => made.queue.close())
    )
    return {
      add: (jobId) => Effect.tryPromise(() => queue.add("test", {}, { jobId })),
      consume: (handle) =>
        Effect.acquireRelease(
          Effect.sync(() => work(() => Effect.runPromise(handle))),
          (worker) => Effect.promise(() => worker.close())
        )
    }
  })
})

const bareRedis = (url: string) =>
  bare("bare BullMQ, Redis", (prefix) =>
    Effect.sync(() => ({
      queue: new Queue("tasks", { prefix, connection: { url } }),
      work: (process) =>
        new Worker("tasks", process, { prefix, concurrency, connection: { url, maxRetriesPerRequest: null } })
    }))
  )

const postgres = withBackend(createPostgresBackend)

const barePostgres = (url: string) =>
  bare("bare BullMQ, PostgreSQL", (schema) =>
    Effect.tryPromise(async () => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      await runMigrations(client, schema)
      await client.end()
      const connection: PostgresConnectionOptions = { connectionString: url, schema }
      return {
        queue: new postgres.Queue("tasks", { connection }),
        work: (process: () => Promise<void>) => new postgres.Worker("tasks", process, { concurrency, connection })
      }
    })
  )

const berth = (name: string, layer: (namespace: string) => Layer.Layer<JobQueue, Error>): Contestant => ({
  name,
  open: Effect.gen(function* () {
    const queue = Context.get(yield* Layer.build(layer(yield* newPrefix)), JobQueue)
    return {
      add: (id) => queue.add({ id, queue: "tasks", name: "test", payload: {}, trace: null }),
      consume: (handle) => queue.consume("tasks", { concurrency, drain: "5 seconds" }, () => handle)
    }
  })
})

const measureRate = ({ open }: Contestant, work: Effect.Effect<void>, jobs: number) =>
  Effect.scoped(
    Effect.gen(function* () {
      const queue = yield* open
      const ids = Array.from({ length: jobs }, (_, at) => `job-${at}`)
      yield* Effect.forEach(ids, queue.add, { concurrency: 50, discard: true })
      const all = yield* Deferred.make<void>()
      let done = 0
      const count = Effect.suspend(() => ((done += 1) === jobs ? Deferred.succeed(all, undefined) : Effect.void))
      const [time] = yield* Effect.timed(
        Effect.zipRight(queue.consume(Effect.zipRight(work, count).pipe(Effect.asVoid)), Deferred.await(all))
      )
      return jobs / Duration.toSeconds(time)
    })
  )

const measureWakeUp = ({ open }: Contestant): Effect.Effect<Latencies, Error> =>
  Effect.scoped(
    Effect.gen(function* () {
      const queue = yield* open
      let woken: Deferred.Deferred<bigint> | undefined
      yield* queue.consume(
        Effect.flatMap(Clock.currentTimeNanos, (now) =>
          woken === undefined ? Effect.void : Effect.asVoid(Deferred.succeed(woken, now))
        )
      )
      const one = (id: number) =>
        Effect.gen(function* () {
          const started = yield* Deferred.make<bigint>()
          woken = started
          const before = yield* Clock.currentTimeNanos
          yield* queue.add(`wake-${id}`)
          return Number((yield* Deferred.await(started)) - before) / 1e6
        })
      yield* Effect.forEach([-3, -2, -1], one)
      return summarizeLatencies(
        yield* Effect.forEach(
          Array.from({ length: wakeUps }, (_, at) => at),
          one
        )
      )
    })
  )

/** Jobs per second of full queues, and the time from adding a job until an idle worker starts it. */
export const jobs: Scenario = (amounts) =>
  Effect.gen(function* () {
    const redis = yield* startRedis(yield* temporaryDirectory)
    if (redis === "") return yield* Effect.fail(new Error("redis-server is not on the PATH"))
    const { database } = yield* hostBerth()
    const contestants = [
      bareRedis(redis),
      berth("Berth, Redis", (prefix) => RedisJobQueue.layer({ url: Redacted.make(redis), prefix })),
      barePostgres(Redacted.value(database.url)),
      berth("Berth, PostgreSQL", (schema) => PostgresJobQueue.layer({ url: database.url, schema }))
    ]
    const rates = yield* Effect.forEach(works, (work) =>
      Effect.gen(function* () {
        const rounds = yield* Effect.replicateEffect(
          Effect.forEach(contestants, (one) => measureRate(one, work.run, amounts.jobs)),
          amounts.rounds
        )
        return contestants.map(({ name }, at) => ({
          work: work.name,
          name,
          rate: median(rounds.map((round) => round[at] ?? Number.NaN)),
          ratio: median(rounds.map((round) => (round[at] ?? Number.NaN) / (round[0] ?? Number.NaN)))
        }))
      })
    )
    const latencies = yield* Effect.forEach(contestants, (one) =>
      Effect.map(measureWakeUp(one), (latency) => ({ name: one.name, ...latency }))
    )
    const rows = rates.flat()
    return {
      figures: { aims, rates: rows, wakeUpMs: latencies },
      tables: [
        {
          title: `Jobs at concurrency ${concurrency}`,
          columns: ["queue", "work", "per second", "rate to bare", "aim"],
          rows: rows.map(({ name, rate, ratio, work }) => [
            name,
            work,
            formatFigure(rate),
            formatFigure(ratio),
            work === "no-op" ? "" : formatFigure(aims.ratio)
          ])
        },
        {
          title: "Wake-up of an idle worker",
          columns: ["queue", "p50 ms", "p95 ms", "p99 ms", "aim p50"],
          rows: latencies.map(({ name, p50, p95, p99 }) => [name, ...[p50, p95, p99, aims.wakeUpMs].map(formatFigure)])
        }
      ],
      panels: works.map((work) => ({
        title: `Jobs per second, ${work.name}`,
        unit: "/s",
        bars: rows
          .filter((row) => row.work === work.name)
          .map(({ name, rate }) => ({ label: name, value: rate, isBaseline: name === contestants[0]?.name }))
      }))
    }
  })
