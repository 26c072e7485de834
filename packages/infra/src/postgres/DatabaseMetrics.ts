import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Schema } from "effect"
import { formatGauge } from "../telemetry/PrometheusFormat.ts"

const Counts = Schema.Record({ key: Schema.String, value: Schema.Number })
const Figures = Schema.Struct({
  agents: Counts,
  instances: Counts,
  waitingRows: Schema.Number,
  lagSeconds: Schema.Number
})

const lifetime = "5 seconds"
const readTimeout = "2 seconds"

const byStatus = (counts: typeof Counts.Type) =>
  AgentStatus.literals.map((status) => ({ labels: { status }, value: counts[status] ?? 0 }))

/** Formats in the Prometheus text format. */
const formatFigures = ({ agents, instances, lagSeconds, waitingRows }: typeof Figures.Type): string =>
  [
    formatGauge("berth_agents", "Agents by status", byStatus(agents)),
    formatGauge("berth_instances", "Instances by status", byStatus(instances)),
    formatGauge("berth_outbox_lag_seconds", "Age of the oldest outbox row that is not published", [
      { value: lagSeconds }
    ]),
    formatGauge("berth_outbox_waiting_rows", "Outbox rows that are not published", [{ value: waitingRows }])
  ].join("")

/**
 * Reads figures of the database as text, at most once per five seconds. Empty while PostgreSQL does not respond in
 * time.
 */
export const make: Effect.Effect<Effect.Effect<string>, never, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  const read = Effect.gen(function* () {
    const now = DateTime.toDate(yield* DateTime.now)
    return yield* sql`
      select
        (select coalesce(json_object_agg(status, count), '{}')
         from (select status, count(*) from agents group by status) as by_status) as agents,
        (select coalesce(json_object_agg(status, count), '{}')
         from (select status, count(*) from instances group by status) as by_status) as instances,
        count(*)::int as waiting_rows,
        coalesce(greatest(extract(epoch from ${now}::timestamptz - min(created_at)), 0), 0)::float8 as lag_seconds
      from outbox where published_at is null`.pipe(Effect.flatMap(Schema.decodeUnknown(Schema.Tuple(Figures))))
  }).pipe(Effect.withTracerEnabled(false))
  // The wait for a pool connection is uninterruptible, and an interrupted reader must not interrupt the read for the
  // next one.
  const readInTime = read.pipe(
    Effect.disconnect,
    Effect.timeout(readTimeout),
    Effect.interruptible,
    Effect.map(([figures]) => formatFigures(figures)),
    Effect.catchAll((error) => Effect.as(Effect.logWarning("Figures of the database not read", error), "")),
    Effect.uninterruptible
  )
  return yield* Effect.cachedWithTTL(readInTime, lifetime)
})
