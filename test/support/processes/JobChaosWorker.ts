import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { ChannelChecks } from "@berth/domain/channels/ChannelChecks"
import { ChannelTurns } from "@berth/domain/channels/ChannelTurns"
import { AgentManager } from "@berth/domain/instances/AgentManager"
import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { PasswordResetMails } from "@berth/domain/recovery/password-reset/PasswordResetMails"
import * as SchedulesServices from "@berth/domain/schedules/SchedulesServices"
import * as BackgroundJobs from "@berth/worker/jobs/BackgroundJobs"
import * as JobConsumers from "@berth/worker/jobs/JobConsumers"
import * as OutboxRelay from "@berth/worker/jobs/OutboxRelay"
import * as ScheduleTasks from "@berth/worker/schedules/ScheduleTasks"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { SqlClient } from "@effect/sql/SqlClient"
import { Config, Effect, Layer, Logger, LogLevel, Random } from "effect"
import { unusedPorts } from "../../../packages/worker/test/jobs/UnusedPorts.ts"
import * as ChaosStores from "../ChaosStores.ts"

/*
 * A worker with the live consumers, relay, schedules and agent runs. The effects of other jobs are rows. A turn is a
 * row that ends by itself, as in a backend that outlives its worker.
 */
const pause = (most: number) => Effect.flatMap(Random.nextIntBetween(0, most), (millis) => Effect.sleep(millis))

const effects = Layer.unwrapEffect(
  Effect.map(SqlClient, (sql) => {
    const apply = (kind: string, id: string) =>
      Effect.gen(function* () {
        yield* sql`insert into chaos_executions (kind, id) values (${kind}, ${id})`
        yield* pause(20)
        yield* sql`insert into chaos_effects (kind, id) values (${kind}, ${id}) on conflict do nothing`
      }).pipe(Effect.orDie)
    const answer = (id: string) =>
      Effect.gen(function* () {
        const isLong = (yield* Random.nextIntBetween(0, 20)) === 0
        const millis = yield* isLong ? Random.nextIntBetween(1000, 4000) : Random.nextIntBetween(5, 300)
        yield* sql`
          insert into chaos_turns (id, ends_at) values (${id}, clock_timestamp() + make_interval(secs => ${millis / 1000}))
          on conflict do nothing`
        const [row] = yield* sql`
          select greatest(0, extract(epoch from ends_at - clock_timestamp()) * 1000)::float8 as millis
          from chaos_turns where id = ${id}`
        yield* Effect.sleep(Number(row?.["millis"] ?? 0))
        return { type: "answered", reply: "done" } as const
      }).pipe(Effect.orDie)
    return Layer.mergeAll(
      Layer.mock(PasswordResetMails, {
        _tag: "@berth/PasswordResetMails",
        send: (_job, email) => apply("mail", email)
      }),
      Layer.mock(CardEventEffects, { _tag: "@berth/CardEventEffects", apply: (id) => apply("card-events", id) }),
      Layer.mock(ChannelChecks, { _tag: "@berth/ChannelChecks", check: ({ agentId }) => apply("tasks", agentId) }),
      Layer.mock(AgentManager, { deploy: (id) => apply("provision", id) }),
      Layer.succeed(ChannelTurns, { answer: ({ messageId }) => answer(messageId) })
    )
  })
)

/** Exits when a queue has more jobs in flight than its cap. */
const watchedQueue = Layer.effect(
  JobQueue,
  Effect.map(JobQueue, (queue) =>
    JobQueue.of({
      ...queue,
      consume: (name, options, handle) => {
        let inFlight = 0
        return queue.consume(name, options, (job) =>
          Effect.suspend(() => {
            inFlight += 1
            if (inFlight > options.concurrency) process.exit(ChaosStores.capExceeded)
            return handle(job)
          }).pipe(Effect.ensuring(Effect.sync(() => (inFlight -= 1))))
        )
      }
    })
  )
)

const worker = Effect.gen(function* () {
  const databaseUrl = yield* Config.redacted("DATABASE_URL")
  const redisUrl = yield* Config.option(Config.redacted("REDIS_URL"))
  const { queue, storage } = ChaosStores.make(databaseUrl, redisUrl)
  const drain = ChaosStores.drain
  const consumers = JobConsumers.layer({ concurrency: { tasks: 5, provision: 2 }, drain }).pipe(
    Layer.provide(BackgroundJobs.layer())
  )
  return Layer.mergeAll(consumers, OutboxRelay.layer, ScheduleTasks.layer).pipe(
    Layer.provide(SchedulesServices.scheduleJobs),
    Layer.provide(Layer.provideMerge(effects, unusedPorts)),
    Layer.provide(Layer.provide(watchedQueue, queue)),
    Layer.provide(storage)
  )
})

NodeRuntime.runMain(
  Layer.launch(Layer.unwrapEffect(worker)).pipe(Logger.withMinimumLogLevel(LogLevel.Error), Effect.sandbox),
  { disablePrettyLogger: true }
)
