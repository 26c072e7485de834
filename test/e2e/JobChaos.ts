import { ProvisionAgentJob } from "@berth/domain/agents/AgentJobs"
import { ApplyCardEventJob } from "@berth/domain/billing/events/CardEvent"
import type { ChannelKey } from "@berth/domain/channels/ChannelConnection"
import { CheckChannelJob } from "@berth/domain/channels/ChannelJobs"
import { DeadLetters } from "@berth/domain/jobs/DeadLetters"
import { QueueName } from "@berth/domain/jobs/JobKind"
import { JobQueue } from "@berth/domain/jobs/JobQueue"
import { Outbox } from "@berth/domain/jobs/Outbox"
import { Transaction } from "@berth/domain/persistence/Transaction"
import { SendPasswordResetJob } from "@berth/domain/recovery/password-reset/PasswordResets"
import { AgentRunId } from "@berth/domain/schedules/runs/AgentRun"
import { AgentRunRepository } from "@berth/domain/schedules/runs/AgentRunRepository"
import { ScheduleId } from "@berth/domain/schedules/Schedule"
import { SkillExecutionJob } from "@berth/domain/schedules/ScheduleJobs"
import { ScheduleRepository } from "@berth/domain/schedules/ScheduleRepository"
import { AgentId } from "@berth/domain/shared/AgentId"
import { start as startPostgres } from "@berth/infra/embedded-postgres/EmbeddedPostgres"
import { SqlClient } from "@effect/sql/SqlClient"
import { assert } from "@effect/vitest"
import { DateTime, Duration, Effect, Exit, FastCheck, Layer, Option, Redacted, Schedule, Scope } from "effect"
import type { ChildProcess } from "node:child_process"
import * as ChaosStores from "../support/ChaosStores.ts"
import { eventually } from "../support/Eventually.ts"
import {
  awaitExit,
  compileProgram,
  isRunning,
  killProcess,
  runClockAhead,
  startProgram
} from "../support/processes/ChildProcess.ts"
import { startRedis } from "../support/RedisServer.ts"
import { insertAgent, insertUser } from "../support/Samples.ts"
import { temporaryDirectory } from "../support/TemporaryDirectories.ts"

type QueueStore = "redis" | "postgres"

const workers = 3
/** Started at once on empty stores. */
const crowd = 10
/** Clock offsets of the workers in milliseconds. */
const clocks = [2000, 0, -2000]
const owners = 12
const blows = 24
/** Time of a stopped worker beyond its drain. */
const stopMargin = Duration.seconds(10)
const waitLimit = "15 minutes"

const plan = (seed: number, store: QueueStore) =>
  FastCheck.sample(
    FastCheck.array(
      FastCheck.record({
        victim: FastCheck.constantFrom("kill", "kill", "stop", "stop twice", "postgres", store),
        worker: FastCheck.nat(workers - 1),
        delayMs: FastCheck.integer({ min: 100, max: 2500 })
      }),
      { minLength: blows, maxLength: blows }
    ),
    { seed, numRuns: 1 }
  ).flat()

/** Runs a server that can be killed and restarted on the same port. */
const restartable = <A, E>(
  start: (port: number | undefined) => Effect.Effect<A, E, Scope.Scope>,
  portOf: (one: A) => number
) =>
  Effect.gen(function* () {
    const outer = yield* Effect.scope
    let scope = yield* Scope.fork(outer, { _tag: "Sequential" })
    let running = yield* Scope.extend(start(undefined), scope)
    return {
      get: () => running,
      restart: (kill: (one: A) => Effect.Effect<void>) =>
        Effect.gen(function* () {
          const port = portOf(running)
          yield* kill(running)
          yield* Scope.close(scope, Exit.void)
          scope = yield* Scope.fork(outer, { _tag: "Sequential" })
          running = yield* Scope.extend(start(port), scope)
        })
    }
  })

const tables = [
  "create table chaos_effects (kind text, id text, primary key (kind, id))",
  "create table chaos_executions (kind text, id text)",
  "create table chaos_turns (id text primary key, ends_at timestamptz not null)",
  "create table chaos_ends (id text)",
  `create function count_end() returns trigger language plpgsql as $$
     begin insert into chaos_ends values (new.id); return null; end $$`,
  `create trigger chaos_end after update on agent_runs for each row
     when (new.ended_at is not null and (old.ended_at is null or old.ended_at <> new.ended_at)) execute function count_end()`
]

const insertOwners = Effect.replicateEffect(
  Effect.flatMap(insertUser(), ({ id: ownerId }) =>
    Effect.map(insertAgent(ownerId), ({ id: agentId }) => ({ ownerId, agentId }))
  ),
  owners
)
type Owner = Effect.Effect.Success<typeof insertOwners>[number]

/** Appends jobs of each kind in turn; every third one is a skill run. */
const append = (number: number, { agentId, ownerId }: Owner) =>
  Effect.gen(function* () {
    const outbox = yield* Outbox
    const runs = yield* AgentRunRepository
    const transaction = yield* Transaction
    const id = `${number}`
    switch (number % 6) {
      case 0:
        return yield* outbox.append(SendPasswordResetJob, { email: `${id}@example.com` }, ownerId)
      case 1:
        return yield* outbox.append(ApplyCardEventJob, { eventId: id }, ownerId)
      case 2:
        return yield* outbox.append(ProvisionAgentJob, { agentId: AgentId.make(id) }, ownerId)
      case 3: {
        const key: ChannelKey = { agentId: AgentId.make(id), platform: "platformA" }
        return yield* outbox.append(CheckChannelJob, key, ownerId)
      }
      default: {
        const runId = AgentRunId.make(`run_${id}`)
        const run = { id: runId, agentId, tick: null, prompt: null, skillId: "time", input: {}, reason: null } as const
        yield* transaction.run(
          Effect.zipRight(
            runs.insert({ ...run, state: "waiting" }),
            outbox.append(SkillExecutionJob, { runId }, ownerId)
          )
        )
      }
    }
  })

const insertSchedules = (all: ReadonlyArray<Owner>) =>
  Effect.gen(function* () {
    const schedules = yield* ScheduleRepository
    const now = yield* DateTime.now
    for (const { agentId } of all.slice(0, 3))
      yield* schedules.insert(
        {
          id: ScheduleId.make(`sch_${agentId}`),
          agentId,
          kind: "prompt",
          cron: "*/2 * * * * *",
          timezone: "UTC",
          prompt: "Tick",
          skillId: null,
          input: null,
          onMissed: "all",
          enabled: true,
          createdAt: now,
          updatedAt: now
        },
        10
      )
  })

/** Thousands of jobs while workers and stores are killed, stopped and restarted; returns the final counts. */
export const runJobChaos = (seed: number, jobs: number, store: QueueStore) =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const postgres = yield* restartable(
      (port) =>
        startPostgres({
          directory: `${directory}/postgres`,
          // A worker with its queues in PostgreSQL has up to 21 connections.
          settings: { max_connections: "300" },
          ...(port === undefined ? {} : { port })
        }),
      ({ port }) => port
    )
    const redis = yield* restartable(
      (port) => startRedis(directory, { fsync: "always", port }),
      (url) => Number(new URL(url).port)
    )
    const program = yield* compileProgram("JobChaosWorker.ts")
    const environment = {
      DATABASE_URL: Redacted.value(postgres.get().url),
      ...(store === "redis" ? { REDIS_URL: redis.get() } : {})
    }
    const begin = (ahead = 0) => startProgram(program, { ...environment, ...runClockAhead(ahead) })
    const first = yield* Effect.replicateEffect(begin(), crowd)
    const { queue, storage } = ChaosStores.make(
      postgres.get().url,
      store === "redis" ? Option.some(Redacted.make(redis.get())) : Option.none()
    )
    const children: Array<ChildProcess> = []
    let slowestStop = 0
    let deaths = 0

    const stop = (child: ChildProcess, twice: boolean) =>
      Effect.gen(function* () {
        child.kill("SIGTERM")
        if (twice)
          yield* Effect.zipRight(
            Effect.sleep("200 millis"),
            Effect.sync(() => child.kill("SIGTERM"))
          )
        const [time, code] = yield* Effect.timed(awaitExit(child))
        slowestStop = Math.max(slowestStop, Duration.toMillis(time))
        assert.notStrictEqual(code, ChaosStores.capExceeded, "a cap was exceeded")
        assert.isTrue(
          Duration.lessThan(time, Duration.sum(ChaosStores.drain, stopMargin)),
          `a stop took ${time.toString()}`
        )
      })
    const replace = (at: number) =>
      Effect.gen(function* () {
        const before = children[at]
        assert.notStrictEqual(before?.exitCode, ChaosStores.capExceeded, "a cap was exceeded")
        deaths += before === undefined ? 0 : 1
        children[at] = yield* begin(clocks[at])
      })
    const revive = Effect.suspend(() =>
      Effect.forEach(children, (child, at) => (isRunning(child) ? Effect.void : replace(at)))
    )

    return yield* Effect.gen(function* () {
      const sql = yield* SqlClient
      for (const statement of tables) yield* sql.unsafe(statement)
      const all = yield* insertOwners
      yield* insertSchedules(all)
      yield* Effect.forEach(Array.from({ length: workers }), (_, at) => replace(at))
      // They migrate and run until the schedules have fired.
      yield* eventually(
        Effect.orDie(sql<{ readonly ticks: number }>`select count(*)::int as ticks from agent_runs`),
        ([row]) => row !== undefined && row.ticks > 0,
        { description: "the first tick", timeout: waitLimit }
      )
      assert.isTrue(first.every(isRunning), "a worker ended at its start on empty stores")
      yield* Effect.forEach(first, killProcess)
      const again = Effect.retry({ schedule: Schedule.spaced("500 millis"), times: 200 })
      const steps = plan(seed, store)
      let next = 0
      for (const [at, { delayMs, victim, worker }] of steps.entries()) {
        const until = Math.floor((jobs * (at + 1)) / steps.length)
        for (; next < until; next++) {
          const owner = all[next % all.length]
          if (owner !== undefined) yield* again(Effect.sandbox(append(next, owner)))
        }
        yield* Effect.sleep(delayMs)
        const child = children[worker]
        if (victim === "postgres")
          yield* postgres.restart(({ exited, pid }) =>
            Effect.zipRight(
              Effect.sync(() => process.kill(pid, "SIGQUIT")),
              exited
            )
          )
        else if (victim === "redis") yield* redis.restart(() => Effect.void)
        else if (victim === "kill") child?.kill("SIGKILL")
        else if (child !== undefined && isRunning(child)) yield* stop(child, victim === "stop twice")
        yield* revive
      }
      yield* again(Effect.sandbox(sql`update schedules set enabled = false`))

      const letters = yield* DeadLetters
      let replayed = 0
      const replayDead = Effect.gen(function* () {
        const dead = yield* letters.list(Option.none(), 1000)
        replayed += dead.length
        yield* Effect.forEach(dead, ({ id }) => Effect.ignore(letters.replay(id)))
      })
      const readState = Effect.gen(function* () {
        yield* revive
        yield* replayDead
        const [row] = yield* sql`
          select (select count(*) from chaos_effects)::int as effects, (select count(*) from chaos_executions)::int as executions,
            (select count(*) from agent_runs where ended_at is null)::int as open,
            (select count(*) from agent_runs where schedule_id is null and state = 'succeeded')::int as runs,
            (select count(*) from agent_runs where state = 'succeeded')::int as succeeded,
            (select count(*) from agent_runs where schedule_id is not null)::int as ticks,
            (select count(*) from agent_runs where state not in ('succeeded', 'missed', 'skipped'))::int as failed,
            (select count(*) - count(distinct id) from chaos_ends)::int as doubled,
            (select count(*) from agent_runs where state in ('missed', 'skipped'))::int as late,
            (select count(*) from (
              select state, due_at - lag(due_at) over (partition by schedule_id order by due_at) as gap
              from agent_runs where schedule_id is not null) gaps
              -- Of a long outage the history has the newest times only, and the oldest of these is missed.
              where gap <> interval '2 seconds' and state <> 'missed')::int as gaps,
            (select count(*) from outbox where published_at is null)::int as unpublished`
        return Object.fromEntries(Object.entries(row ?? {}).map(([name, value]) => [name, Number(value)]))
      })
      const expected = { effects: Array.from({ length: jobs }).filter((_, at) => at % 6 < 4).length }
      const state = yield* eventually(
        again(Effect.sandbox(readState)),
        ({ effects = 0, open = 1, runs = 0 }) =>
          effects >= expected.effects && runs >= jobs - expected.effects && open === 0,
        { description: `the end of ${jobs} jobs of seed ${seed}`, timeout: waitLimit }
      )
      const { counts } = yield* JobQueue
      yield* eventually(
        again(Effect.forEach(QueueName.literals, counts)),
        (all) => all.every(({ active, delayed, waiting }) => active + delayed + waiting === 0),
        { description: "empty queues", timeout: "2 minutes" }
      )
      yield* Effect.forEach(children, (child) => stop(child, false))
      assert.containSubset(state, { effects: expected.effects, doubled: 0, gaps: 0, failed: 0, unpublished: 0 })
      assert.strictEqual(state["runs"], jobs - expected.effects)
      return { ...state, deaths, replayed, slowestStopMs: Math.round(slowestStop) }
    }).pipe(Effect.provide(DeadLetters.Default.pipe(Layer.provideMerge(queue), Layer.provideMerge(storage))))
  })
