import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { maximumPayloadBytes } from "@berth/domain/jobs/JobKind"
import { JobPayloadTooLarge, maximumInFlightPerOwner, Outbox, OutboxEntry } from "@berth/domain/jobs/Outbox"
import type { PgClient } from "@effect/sql-pg/PgClient"
import { SqlClient } from "@effect/sql/SqlClient"
import { Array, type Cause, DateTime, Duration, Effect, Exit, type Layer, Option, Schema, Scope } from "effect"
import { currentTrace } from "../CurrentTrace.ts"
import { countAffectedRows, decodeRows, execute } from "../Rows.ts"
import { makeWakeups } from "../Wakeups.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

const channel = "berth_outbox"
// Bounds the delay of a job after a lost notification.
const defaultPollInterval = Duration.seconds(1)
// Allows looking up yesterday's jobs.
const publishedRetention = Duration.days(1)

// Frees the slot of a job whose worker died before it settled.
const unsettledTimeout = Duration.minutes(15)

// Most jobs settle within seconds.
const overdueAfter = Duration.minutes(5)

const make = Effect.fnUntraced(function* (pollInterval: Duration.DurationInput) {
  const sql = yield* SqlClient
  const ids = yield* IdGenerator
  const scope = yield* Effect.scope
  const wakeups = yield* makeWakeups(channel)
  const appended = yield* Effect.cached(Effect.provideService(wakeups.subscribe("", pollInterval), Scope.Scope, scope))

  const interval = (duration: Duration.Duration) => sql`make_interval(secs => ${Duration.toSeconds(duration)})`

  /**
   * Reads each lane by its index only up to its free slots, so that a large lane costs no more than a small one.
   * Reads more than the limit, since another relay may hold the first entries.
   */
  const next = (limit: number) =>
    sql`
        with recursive lanes as (
          (select lane from outbox where published_at is null order by lane limit 1)
          union all
          select (
            select outbox.lane from outbox where published_at is null and outbox.lane > lanes.lane order by outbox.lane limit 1
          ) from lanes where lanes.lane is not null
        ), turns as (
          select first.* from lanes cross join lateral (
            select id, failures, position, row_number() over (order by failures, position) as turn
            from outbox where published_at is null and lane = lanes.lane
            order by failures, position
            limit greatest(0, ${maximumInFlightPerOwner} - (
              select count(*) from outbox
              where lane = lanes.lane and settled_at is null and published_at > now() - ${interval(unsettledTimeout)}
            ))
          ) first
          where lanes.lane is not null
          order by failures, turn, position limit ${limit * 4}
        )
        select outbox.id, queue, name, payload, trace from outbox join turns on turns.id = outbox.id
        where published_at is null
        order by turns.failures, turns.turn, turns.position limit ${limit} for update of outbox skip locked`.pipe(
      decodeRows(OutboxEntry)
    )

  /**
   * Locks an equal unpublished entry, so that it is not published before this transaction ends. Skips locked entries,
   * since their publication may be in progress and would miss the changes of this transaction.
   */
  const reuse = ({ lane, name, payload }: { readonly lane: string; readonly name: string; readonly payload: string }) =>
    sql`
        select pg_notify(${channel}, '') from (
          select id from outbox
          where published_at is null and lane = ${lane} and name = ${name} and payload = ${payload}::jsonb
          limit 1 for update skip locked
        ) waiting`.pipe(Effect.map(Array.isNonEmptyReadonlyArray), Effect.orDie)

  return Outbox.of({
    append: (kind, payload, owner) =>
      Effect.gen(function* () {
        const id = yield* ids.next("job")
        const job = {
          // Jobs without an owner have a separate lane.
          lane: `${kind.queue} ${owner ?? id}${kind.lane === undefined ? "" : ` ${kind.lane}`}`,
          name: kind.name,
          payload: toStorableJson(yield* Effect.orDie(Schema.encode(kind.payload)(payload)))
        }
        const bytes = Buffer.byteLength(job.payload)
        if (bytes > maximumPayloadBytes) return yield* Effect.die(new JobPayloadTooLarge({ name: kind.name, bytes }))
        if (kind.isCoalesced === true && (yield* reuse(job))) return
        yield* Effect.gen(function* () {
          const entry = {
            id,
            ...job,
            queue: kind.queue,
            trace: yield* Effect.map(currentTrace, (trace) => (trace === null ? null : JSON.stringify(trace))),
            createdAt: DateTime.toDate(yield* DateTime.now)
          }
          yield* execute(sql`
              with appended as (insert into outbox ${sql.insert(entry)} returning 1)
              select pg_notify(${channel}, '') from appended`)
        }).pipe(
          // Parent of the worker's span for the job.
          Effect.withSpan(`send ${kind.queue}`, {
            kind: "producer",
            attributes: {
              "messaging.system": "bullmq",
              "messaging.operation.name": "send",
              "messaging.operation.type": "send",
              "messaging.destination.name": kind.queue,
              "messaging.message.id": id,
              "berth.job.name": kind.name
            }
          })
        )
      }),
    relay: Effect.fnUntraced(function* <E, R>(
      limit: number,
      publish: (entry: OutboxEntry) => Effect.Effect<void, E, R>
    ) {
      const { published, failure } = yield* sql
        .withTransaction(
          Effect.gen(function* () {
            const entries = yield* next(limit)
            const done: Array<string> = []
            let failure: Option.Option<{ readonly id: string; readonly cause: Cause.Cause<E> }> = Option.none()
            for (const entry of entries) {
              const exit = yield* Effect.exit(publish(entry))
              if (Exit.isFailure(exit)) {
                failure = Option.some({ id: entry.id, cause: exit.cause })
                break
              }
              done.push(entry.id)
            }
            if (Array.isNonEmptyArray(done))
              yield* sql`update outbox set published_at = now() where ${sql.in("id", done)}`
            if (Option.isSome(failure))
              yield* sql`update outbox set failures = failures + 1 where id = ${failure.value.id}`
            return { published: done.length, failure }
          })
        )
        .pipe(Effect.orDie)
      if (Option.isSome(failure)) return yield* Effect.failCause(failure.value.cause)
      return published
    }),
    listUnsettled: (after, limit) =>
      sql`
        select id, queue, name, payload, trace from outbox
        where settled_at is null and published_at < now() - ${interval(overdueAfter)} and id > ${toStorableText(after)}
        order by id limit ${limit}`.pipe(decodeRows(OutboxEntry)),
    settle: (id) =>
      execute(sql`
          with settled as (
            update outbox set settled_at = now() where id = ${toStorableText(id)} and settled_at is null returning 1
          )
          select pg_notify(${channel}, '') from settled`),
    awaitAppended: Effect.flatten(appended),
    prune: countAffectedRows(sql`delete from outbox where published_at < now() - ${interval(publishedRetention)}`)
  })
})

/** Polls for entries at `pollInterval` in case of a lost notification. */
export const layerWith = (options: {
  readonly pollInterval: Duration.DurationInput
}): Layer.Layer<Outbox, never, PgClient | SqlClient | IdGenerator> =>
  Repository.layerEffect(Outbox, make(options.pollInterval))

export const layer: Layer.Layer<Outbox, never, PgClient | SqlClient | IdGenerator> = layerWith({
  pollInterval: defaultPollInterval
})
