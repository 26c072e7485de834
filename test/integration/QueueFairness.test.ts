import { A2aDelivery } from "@berth/domain/a2a/A2aDelivery"
import { makeDeliverA2aMessageJob } from "@berth/domain/a2a/A2aJobs"
import { A2aMessageId } from "@berth/domain/a2a/A2aMessage"
import type { JobKind, QueueName } from "@berth/domain/jobs/JobKind"
import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { maximumInFlightPerOwner, Outbox } from "@berth/domain/jobs/Outbox"
import { UserId } from "@berth/domain/shared/UserId"
import { AgentRunId } from "@berth/domain/schedules/runs/AgentRun"
import { AgentRuns } from "@berth/domain/schedules/runs/AgentRuns"
import { ScheduledTaskJob } from "@berth/domain/schedules/ScheduleJobs"
import { OutageDetector } from "@berth/domain/shared/DependencyUnavailable"
import * as PostgresOutbox from "@berth/infra/postgres/jobs/PostgresOutbox"
import * as PostgresJobQueue from "@berth/infra/queue/PostgresJobQueue"
import * as RedisJobQueue from "@berth/infra/queue/RedisJobQueue"
import * as BackgroundJobs from "@berth/worker/jobs/BackgroundJobs"
import * as JobConsumers from "@berth/worker/jobs/JobConsumers"
import * as OutboxRelay from "@berth/worker/jobs/OutboxRelay"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Ref, Schema } from "effect"
import { randomBytes } from "node:crypto"
import { inject } from "vitest"
import { unusedPorts } from "../../packages/worker/test/jobs/UnusedPorts.ts"
import { eventually } from "../support/Eventually.ts"
import * as MigratedDatabase from "../support/MigratedDatabase.ts"
import { sql } from "../support/Sql.ts"
import { describeWithTool, redisServer } from "../support/RequiredTools.ts"
import * as TestSecrets from "../support/TestSecrets.ts"

const queueOf = {
  PostgreSQL: Layer.unwrapEffect(
    Effect.map(PgClient, ({ config }) =>
      PostgresJobQueue.layer({ url: config.url ?? Redacted.make(""), schema: "queues" })
    )
  ),
  Redis: Layer.unwrapEffect(
    Effect.sync(() =>
      RedisJobQueue.layer({
        url: Redacted.make(inject("redisUrl")),
        prefix: `test-${randomBytes(6).toString("hex")}`
      })
    )
  )
}

const services = (store: keyof typeof queueOf) =>
  Layer.provideMerge(
    OutboxRelay.layer,
    Layer.provideMerge(
      Layer.merge(PostgresOutbox.layer, queueOf[store]),
      Layer.merge(MigratedDatabase.layer, TestSecrets.layer)
    )
  )

const noOutages = Layer.succeed(OutageDetector, { detect: () => Option.none() })

const kindOf = (queue: QueueName) => {
  const payload = Schema.Struct({ owner: Schema.String })
  return { queue, name: "test", payload } as const satisfies JobKind<typeof payload.Type, typeof payload.Encoded>
}

/**
 * Jobs of an owner that can start after another owner's job is stored: published ones, one relay round, and one more.
 */
const bound = 3 * maximumInFlightPerOwner

const fairnessIn = (store: keyof typeof queueOf) => () => {
  it.scopedLive(
    `A single job, mail and a card event start before more than ${bound} further jobs of an owner with 10,000 waiting ones`,
    () =>
      Effect.gen(function* () {
        const outbox = yield* Outbox
        const queue = yield* JobQueue
        const started: Array<string> = []
        let inFlight = 0
        let most = 0
        const consume = (name: QueueName, concurrency: number) =>
          queue.consume(name, { concurrency, drain: "5 seconds" }, ({ id, payload }) =>
            Effect.gen(function* () {
              const { owner } = yield* Schema.decodeUnknown(kindOf(name).payload)(payload)
              started.push(owner)
              inFlight += name === "tasks" ? 1 : 0
              most = Math.max(most, inFlight)
              yield* outbox.settle(id)
              inFlight -= name === "tasks" ? 1 : 0
            })
          )
        yield* sql`
          insert into outbox (id, lane, queue, name, payload, created_at)
          select 'job_' || n, 'tasks usr_flood', 'tasks', 'test', '{"owner":"flood"}', now() from generate_series(1, 10000) n`
        yield* consume("tasks", 5)
        yield* consume("mail", 2)
        yield* consume("card-events", 2)
        const append = (name: QueueName, owner: string) =>
          outbox.append(kindOf(name), { owner }, UserId.make(`usr_${owner}`))
        yield* append("mail", "first")
        yield* eventually(
          Effect.sync(() => started.length),
          (count) => count > 20
        )
        for (const [name, owner] of [
          ["tasks", "other"],
          ["mail", "mailed"],
          ["card-events", "paying"]
        ] as const) {
          yield* append(name, owner)
          const before = started.length
          yield* eventually(
            Effect.sync(() => started),
            (current) => current.includes(owner)
          )
          assert.isAtMost(started.indexOf(owner) - before, bound, owner)
        }
        assert.isAtMost(most, maximumInFlightPerOwner + 1)
      }).pipe(Effect.provide(services(store)))
  )
}

describe("The fairness of queues in PostgreSQL", fairnessIn("PostgreSQL"))
describeWithTool(redisServer, "The fairness of queues in Redis", fairnessIn("Redis"))

describe("The fairness of queues", () => {
  it.scopedLive("Two owners whose agents hang in runs and in messages do not delay those of a third owner", () =>
    Effect.gen(function* () {
      const hanging = yield* Ref.make<ReadonlyArray<string>>([])
      const ended = yield* Ref.make<ReadonlyArray<string>>([])
      const ask = (id: string) =>
        id.includes("_slow")
          ? Effect.zipRight(
              Ref.update(hanging, (current) => [...current, id]),
              Effect.never
            )
          : Ref.update(ended, (current) => [...current, id])
      const agents = Layer.merge(
        Layer.mock(AgentRuns, { _tag: "@berth/AgentRuns", execute: ask }),
        Layer.mock(A2aDelivery, { _tag: "@berth/A2aDelivery", deliver: ask })
      )
      const consumers = JobConsumers.layer({ concurrency: { tasks: 5, provision: 2 }, drain: 0 }).pipe(
        Layer.provide(BackgroundJobs.layer()),
        Layer.provide([unusedPorts, agents, noOutages])
      )
      yield* Effect.gen(function* () {
        const outbox = yield* Outbox
        const appendAll = Effect.fnUntraced(function* (name: string) {
          const owner = UserId.make(`usr_${name.slice(0, 5)}`)
          yield* outbox.append(ScheduledTaskJob, { runId: AgentRunId.make(`run_${name}`) }, owner)
          yield* outbox.append(makeDeliverA2aMessageJob(1, "normal"), { id: A2aMessageId.make(`a2a_${name}`) }, owner)
          yield* outbox.append(
            makeDeliverA2aMessageJob(1, "high"),
            { id: A2aMessageId.make(`a2a_${name}_urgent`) },
            owner
          )
        })
        for (const owner of ["slow1", "slow2"]) for (let at = 0; at < 6; at++) yield* appendAll(`${owner}_${at}`)
        // An owner has at most this many jobs in progress over its three lanes.
        const inProgress = 2 * 3 * maximumInFlightPerOwner
        yield* eventually(hanging, (current) => current.length === inProgress)
        yield* appendAll("third")
        yield* eventually(ended, (current) => current.length === 3)
        assert.sameMembers([...(yield* ended)], ["run_third", "a2a_third", "a2a_third_urgent"])
        assert.lengthOf(yield* hanging, inProgress)
      }).pipe(Effect.provide(Layer.provideMerge(consumers, services("PostgreSQL"))))
    })
  )
})
