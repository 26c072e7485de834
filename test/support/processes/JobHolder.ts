import { JobQueue } from "@berth/domain/jobs/JobQueue"
import * as PostgresJobQueue from "@berth/infra/queue/PostgresJobQueue"
import * as RedisJobQueue from "@berth/infra/queue/RedisJobQueue"
import { Config, Effect, Layer, Logger } from "effect"

/* A worker that prints the id of each job. It completes none unless ENDS is set, and runs until it is killed. */
const queue = Effect.gen(function* () {
  const url = yield* Config.redacted("QUEUE_URL")
  const namespace = yield* Config.string("QUEUE_NAMESPACE")
  const store = yield* Config.literal("PostgreSQL", "Redis")("QUEUE_STORE")
  const timing = { lockDuration: "5 seconds", stalledInterval: "1 second" } as const
  return store === "Redis"
    ? RedisJobQueue.layer({ url, prefix: namespace, ...timing })
    : PostgresJobQueue.layer({ url, schema: namespace, ...timing })
}).pipe(Layer.unwrapEffect)

const work = Effect.gen(function* () {
  const { consume } = yield* JobQueue
  const ends = yield* Config.withDefault(Config.boolean("ENDS"), false)
  yield* consume("tasks", { concurrency: 1, drain: 0 }, (job) =>
    Effect.zipRight(
      Effect.sync(() => process.stdout.write(`${job.id}\n`)),
      ends ? Effect.void : Effect.never
    )
  )
  return yield* Effect.never
})

void Effect.runPromise(
  work.pipe(Effect.scoped, Effect.provide(queue), Effect.provide(Logger.remove(Logger.defaultLogger)))
)
