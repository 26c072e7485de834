import { maximumInFlightPerOwner, Outbox, type OutboxEntry } from "@berth/domain/jobs/Outbox"
import { maximumPayloadBytes } from "@berth/domain/jobs/JobKind"
import { Transaction } from "@berth/domain/persistence/Transaction"
import * as PostgresOutbox from "@berth/infra/postgres/jobs/PostgresOutbox"
import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import { PgClient } from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import { Cause, Context, Duration, Effect, Either, Fiber, Layer, Option, Schema } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import { eventually } from "../../../support/Eventually.ts"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { ProvisionAgentJob, ReconfigureInstanceJob } from "@berth/domain/agents/AgentJobs"

const Live = Layer.merge(PostgresOutbox.layer, PostgresTransaction.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const append = (agent: string, owner?: UserId) =>
  Effect.flatMap(Outbox, (outbox) => outbox.append(ProvisionAgentJob, { agentId: AgentId.make(agent) }, owner))

const agentOf = ({ payload }: OutboxEntry) => Schema.decodeUnknownSync(ProvisionAgentJob.payload)(payload).agentId

/** Publishes all entries; returns their agents. */
const drained = Effect.gen(function* () {
  const { relay } = yield* Outbox
  const seen: Array<string> = []
  yield* relay(1000, (entry) => Effect.sync(() => seen.push(agentOf(entry))))
  return seen
})

/** The outbox of another process. */
const elsewhere = (outbox = PostgresOutbox.layer) =>
  Effect.gen(function* () {
    const { config } = yield* PgClient
    const context = yield* Layer.build(
      Layer.fresh(outbox).pipe(
        Layer.provide(
          Layer.fresh(
            PostgresPool.layer({
              url: config.url ?? assert.fail("no URL"),
              maxConnections: 2,
              applicationName: "elsewhere"
            })
          )
        ),
        Layer.provide(TestSecrets.layer)
      )
    )
    return Context.get(context, Outbox)
  })

layer(Live, { excludeTestServices: true })("Outbox", (it) => {
  it.effect("Outbox rejects a payload beyond the limit, and stores nothing of it", () =>
    Effect.gen(function* () {
      const exact = "a".repeat(maximumPayloadBytes - JSON.stringify({ agentId: "" }).length)
      const defect = yield* Effect.flip(Effect.sandbox(append(`${exact}a`)))
      assert.deepInclude(Cause.squash(defect), {
        _tag: "JobPayloadTooLarge",
        name: ProvisionAgentJob.name,
        bytes: maximumPayloadBytes + 1
      })
      assert.deepStrictEqual(yield* drained, [])
      yield* append(exact)
      assert.deepStrictEqual(yield* drained, [exact])
    })
  )

  it.effect("Outbox keeps an entry exactly when its transaction is kept, with the trace that caused it", () =>
    Effect.gen(function* () {
      const { relay } = yield* Outbox
      const { run } = yield* Transaction
      yield* run(Effect.zipRight(append("agt_lost"), Effect.fail("no"))).pipe(Effect.flip)
      const traceId = yield* run(
        Effect.zipRight(
          append("agt_kept"),
          Effect.map(Effect.orDie(Effect.currentSpan), (span) => span.traceId)
        )
      ).pipe(Effect.withSpan("the cause"))
      const entries: Array<OutboxEntry> = []
      assert.strictEqual(yield* relay(10, (entry) => Effect.sync(() => entries.push(entry))), 1)
      const [entry] = entries
      assert.deepInclude(entry, { queue: "provision", name: "new-agent", payload: { agentId: "agt_kept" } })
      assert.match(entry?.id ?? "", /^job_/)
      assert.strictEqual(entry?.trace?.traceId, traceId)
      assert.match(entry?.trace?.spanId ?? "", /^[0-9a-f]{16}$/)
      assert.strictEqual(yield* relay(10, () => Effect.die("published before")), 0)
    })
  )

  it.scoped("Outbox hands each entry to one of several relays, oldest first", () =>
    Effect.gen(function* () {
      const outboxes = [yield* Outbox, yield* elsewhere(), yield* elsewhere()]
      const agents = Array.from({ length: 60 }, (_, n) => `agt_${String(n).padStart(2, "0")}`)
      yield* Effect.forEach(agents, (agent) => append(agent))
      const published: Array<string> = []
      const runs = yield* Effect.forEach(
        outboxes,
        ({ relay }) => {
          const mine: Array<string> = []
          const publish = (entry: OutboxEntry) =>
            Effect.sync(() => mine.push(agentOf(entry))).pipe(Effect.zipRight(Effect.sleep("2 millis")))
          return relay(7, publish).pipe(
            Effect.tap((count) => {
              published.push(...mine)
              assert.deepStrictEqual(mine, [...mine].sort())
              assert.strictEqual(mine.splice(0).length, count)
            }),
            Effect.repeat({ until: (count) => count === 0 })
          )
        },
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(runs, [0, 0, 0])
      yield* Effect.map(drained, (left) => published.push(...left))
      assert.deepStrictEqual([...published].sort(), agents)
    })
  )

  it.effect("Outbox keeps unpublished entries, marks published ones, and a failing entry delays no other", () =>
    Effect.gen(function* () {
      const { relay } = yield* Outbox
      yield* Effect.forEach(["agt_1", "agt_poison", "agt_2", "agt_3"], (agent) => append(agent))
      const seen: Array<string> = []
      const publish = (entry: OutboxEntry) =>
        agentOf(entry) === "agt_poison" ? Effect.fail("unwanted") : Effect.sync(() => void seen.push(agentOf(entry)))
      assert.deepStrictEqual(yield* Effect.either(relay(2, publish)), Either.left("unwanted"))
      assert.deepStrictEqual(seen, ["agt_1"])
      assert.strictEqual(yield* relay(1, publish), 1)
      assert.strictEqual(yield* relay(1, publish), 1)
      assert.deepStrictEqual(seen, ["agt_1", "agt_2", "agt_3"])
      assert.deepStrictEqual(yield* Effect.either(relay(1, publish)), Either.left("unwanted"))
      assert.deepStrictEqual(yield* drained, ["agt_poison"])
    })
  )

  it.scoped("Outbox wakes a waiting relay when another process appends", () =>
    Effect.gen(function* () {
      const { awaitAppended } = yield* Outbox
      const { append } = yield* elsewhere()
      // Polls hourly: in effect, it only listens.
      const patient = yield* elsewhere(PostgresOutbox.layerWith({ pollInterval: "1 hour" }))
      const listening = Effect.map(
        sql`select count(*)::int as count from pg_stat_activity where datname = current_database() and query like 'listen%'`,
        ([row]) => row?.["count"]
      )
      // The first notification of an established listener.
      yield* patient.awaitAppended
      yield* awaitAppended
      yield* eventually(listening, (count) => count === 2)
      const waiting = yield* Effect.fork(patient.awaitAppended)
      // Entries of earlier tests can arrive late and end the wait.
      yield* Effect.repeat(Effect.timed(awaitAppended), {
        until: ([nothing]) => Duration.toMillis(nothing) > 900
      })
      assert.deepStrictEqual(yield* Fiber.poll(waiting), Option.none())
      yield* append(ProvisionAgentJob, { agentId: AgentId.make("agt_waited_for") })
      yield* Fiber.join(waiting)

      // Entries appended before the wait do not end it.
      yield* append(ProvisionAgentJob, { agentId: AgentId.make("agt_meanwhile") })
      yield* Effect.sleep("100 millis")
      yield* patient.awaitAppended

      yield* sql`
        select pg_terminate_backend(pid) from pg_stat_activity
        where datname = current_database() and query like 'listen%' and pid <> pg_backend_pid()`
      yield* awaitAppended
      yield* eventually(listening, (count) => count === 2)
      assert.deepStrictEqual(yield* drained, ["agt_waited_for", "agt_meanwhile"])
    })
  )

  it.effect("Outbox does not delay a transaction behind concurrent ones", () =>
    Effect.gen(function* () {
      const { relay, settle } = yield* Outbox
      const [many, one, other] = [UserId.make("usr_many"), UserId.make("usr_one"), UserId.make("usr_other")]
      yield* Effect.forEach(Array.from({ length: 200 }), (_, n) => append(`agt_many_${n}`, many))
      yield* append("agt_one", one)
      yield* Effect.forEach([1, 2], (n) => append(`agt_other_${n}`, other))
      const published: Array<OutboxEntry> = []
      const round = relay(50, (entry) => Effect.sync(() => published.push(entry)))
      const left = () => published.splice(0).map(agentOf)

      assert.strictEqual(yield* round, maximumInFlightPerOwner + 3)
      const [running] = published
      assert.deepStrictEqual(left(), [
        "agt_many_0",
        "agt_one",
        "agt_other_1",
        "agt_many_1",
        "agt_other_2",
        "agt_many_2",
        "agt_many_3"
      ])
      // Nothing is settled: the first owner's lane is full, others' are not.
      assert.strictEqual(yield* round, 0)
      yield* append("agt_late", one)
      yield* settle(running?.id ?? "")
      yield* settle(running?.id ?? "")
      yield* settle("unknown")
      assert.strictEqual(yield* round, 2)
      assert.sameMembers(left(), ["agt_late", "agt_many_4"])
      // A job that is never settled blocks its lane only for a limited time.
      yield* sql`update outbox set published_at = published_at - interval '16 minutes' where published_at is not null`
      assert.strictEqual(yield* round, maximumInFlightPerOwner)
      yield* sql`delete from outbox`
    })
  )

  it.effect("Outbox.listUnsettled returns published entries that did not settle in time, page by page", () =>
    Effect.gen(function* () {
      const { listUnsettled, relay, settle } = yield* Outbox
      yield* sql`delete from outbox`
      yield* Effect.forEach(["agt_done", "agt_1", "agt_2", "agt_3"], (agent) => append(agent))
      const published: Array<OutboxEntry> = []
      yield* relay(10, (entry) => Effect.sync(() => published.push(entry)))
      yield* append("agt_unpublished")
      assert.deepStrictEqual(yield* listUnsettled("", 10), [])
      yield* sql`update outbox set published_at = published_at - interval '6 minutes' where published_at is not null`
      const [done, ...unsettled] = published
      yield* settle(done?.id ?? "")
      assert.deepStrictEqual(yield* listUnsettled("", 2), unsettled.slice(0, 2))
      assert.deepStrictEqual(yield* listUnsettled(unsettled[1]?.id ?? "", 2), unsettled.slice(2))
      yield* sql`delete from outbox`
    })
  )

  const countUnpublished = Effect.map(
    sql`select count(*)::int as count from outbox where published_at is null`,
    ([row]) => row?.["count"]
  )

  it.effect("Outbox.append keeps one unpublished entry of a coalesced kind per owner", () =>
    Effect.gen(function* () {
      const { append, relay } = yield* Outbox
      const [ada, bob] = [UserId.make("usr_ada"), UserId.make("usr_bob")]
      const reconfigure = (userId: UserId) => append(ReconfigureInstanceJob, { userId }, userId)
      yield* reconfigure(bob)
      yield* Effect.replicateEffect(reconfigure(ada), 20)
      assert.strictEqual(yield* countUnpublished, 2)
      const published: Array<unknown> = []
      const relayAll = relay(100, ({ payload }) => Effect.sync(() => published.push(payload)))
      yield* relayAll
      yield* reconfigure(ada)
      yield* relayAll
      assert.deepStrictEqual(published, [{ userId: bob }, { userId: ada }, { userId: ada }])
    })
  )

  it.scoped("Outbox.relay publishes a coalesced entry only after the last transaction that appended it", () =>
    Effect.gen(function* () {
      const { append } = yield* Outbox
      const { relay } = yield* elsewhere()
      const { run } = yield* Transaction
      const carol = UserId.make("usr_carol")
      const reconfigure = append(ReconfigureInstanceJob, { userId: carol }, carol)
      yield* reconfigure
      const early = yield* run(
        Effect.zipRight(
          reconfigure,
          Effect.promise(() => Effect.runPromise(relay(10, () => Effect.void)))
        )
      )
      assert.strictEqual(early, 0)
      assert.strictEqual(yield* countUnpublished, 1)
      assert.strictEqual(yield* relay(10, () => Effect.void), 1)
    })
  )

  it.scoped("Outbox.append adds an entry while the coalesced one is being published", () =>
    Effect.gen(function* () {
      const { append, relay } = yield* Outbox
      const other = yield* elsewhere()
      const dave = UserId.make("usr_dave")
      yield* append(ReconfigureInstanceJob, { userId: dave }, dave)
      const appendMeanwhile = Effect.promise(() =>
        Effect.runPromise(other.append(ReconfigureInstanceJob, { userId: dave }, dave))
      )
      assert.strictEqual(yield* relay(10, () => appendMeanwhile), 1)
      assert.strictEqual(yield* relay(10, () => Effect.void), 1)
    })
  )

  it.effect("Outbox prunes old published entries only", () =>
    Effect.gen(function* () {
      const { prune } = yield* Outbox
      yield* sql`delete from outbox`
      yield* append("agt_old")
      yield* drained
      yield* append("agt_waiting")
      yield* sql`update outbox set created_at = now() - interval '1 week'`
      assert.strictEqual(yield* prune, 0)
      yield* sql`update outbox set published_at = now() - interval '25 hours' where published_at is not null`
      assert.strictEqual(yield* prune, 1)
      assert.deepStrictEqual(yield* drained, ["agt_waiting"])
    })
  )
})
