import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import type { JobKind, TraceParent } from "@berth/domain/jobs/Job"
import { Outbox, OutboxEntry } from "@berth/domain/jobs/Outbox"
import { PgClient } from "@effect/sql-pg/PgClient"
import { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { Array, type Cause, DateTime, Duration, Effect, Exit, Layer, Option, Schedule, Schema } from "effect"
import { connect } from "./DedicatedConnection.ts"
import { affected, all } from "./Rows.ts"
import { codeOf } from "./SqlErrors.ts"
import { storableJson } from "./Storable.ts"

const channel = "berth_outbox"
// A notification is only an accelerator: one that is lost delays a job by this much.
const atMost = Duration.seconds(1)
// Long enough to look up what became of yesterday's job.
const kept = Duration.days(1)

// Without a tracer the span is a stand-in whose ids nobody could parse.
const currentTrace: Effect.Effect<TraceParent | null> = Effect.currentSpan.pipe(
  Effect.map(({ traceId, spanId, sampled }) => (/^[0-9a-f]{32}$/.test(traceId) ? { traceId, spanId, sampled } : null)),
  Effect.catchTag("NoSuchElementException", () => Effect.succeed(null))
)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const pg = yield* PgClient
  const ids = yield* IdGenerator
  const scope = yield* Effect.scope
  const appended = yield* Effect.makeLatch(false)

  const listen = Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* connect("outbox")
      connection.client.on("notification", () => appended.unsafeOpen())
      yield* connection.query(`listen ${channel}`)
      // Whatever came before, came unheard.
      yield* appended.open
      return yield* connection.lost
    })
  ).pipe(
    Effect.tapError((error) =>
      Effect.logWarning("The outbox listens no longer and connects again").pipe(
        Effect.annotateLogs({ code: codeOf(error.cause) ?? "none" })
      )
    ),
    Effect.retry(Schedule.exponential("50 millis").pipe(Schedule.union(Schedule.spaced("2 seconds")))),
    Effect.provideService(PgClient, pg)
  )
  // Only who waits needs the connection.
  const listening = yield* Effect.cached(Effect.forkIn(listen, scope))

  return Outbox.of({
    append: Effect.fn("Outbox.append")(function* <A, I>(kind: JobKind<A, I>, payload: A) {
      const entry = {
        id: yield* ids.next("job"),
        queue: kind.queue,
        name: kind.name,
        payload: storableJson(yield* Effect.orDie(Schema.encode(kind.payload)(payload))),
        trace: yield* Effect.map(currentTrace, (trace) => (trace === null ? null : JSON.stringify(trace))),
        createdAt: DateTime.toDate(yield* DateTime.now)
      }
      yield* sql`
        with appended as (insert into outbox ${sql.insert(entry)} returning 1)
        select pg_notify(${channel}, '') from appended`.pipe(Effect.orDie)
    }),
    relay: Effect.fn("Outbox.relay")(function* <E, R>(
      limit: number,
      publish: (entry: OutboxEntry) => Effect.Effect<void, E, R>
    ) {
      const { published, failure } = yield* sql
        .withTransaction(
          Effect.gen(function* () {
            const entries = yield* sql`
              select id, queue, name, payload, trace from outbox where published_at is null
              order by failures, position limit ${limit} for update skip locked`.pipe(all(OutboxEntry))
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
            const now = DateTime.toDate(yield* DateTime.now)
            if (Array.isNonEmptyArray(done))
              yield* sql`update outbox set published_at = ${now} where ${sql.in("id", done)}`
            if (Option.isSome(failure))
              yield* sql`update outbox set failures = failures + 1 where id = ${failure.value.id}`
            return { published: done.length, failure }
          })
        )
        .pipe(Effect.catchIf((error): error is SqlError => error instanceof SqlError, Effect.die))
      if (Option.isSome(failure)) return yield* Effect.failCause(failure.value.cause)
      return published
    }),
    awaitAppended: Effect.zipRight(
      listening,
      appended.await.pipe(Effect.zipRight(appended.close), Effect.timeoutOption(atMost), Effect.asVoid)
    ).pipe(Effect.withSpan("Outbox.awaitAppended")),
    prune: Effect.gen(function* () {
      const before = DateTime.subtractDuration(yield* DateTime.now, kept)
      return yield* affected(sql`delete from outbox where published_at < ${DateTime.toDate(before)}`)
    }).pipe(Effect.orDie, Effect.withSpan("Outbox.prune"))
  })
})

export const layer: Layer.Layer<Outbox, never, PgClient | SqlClient | IdGenerator> = Layer.scoped(Outbox, make)
