import type { PgClient } from "@effect/sql-pg/PgClient"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, Layer, Schema } from "effect"
import baseline from "./migrations/0001_baseline.ts"
import provisioning from "./migrations/0002_provisioning.ts"
import events from "./migrations/0003_events.ts"
import wallets from "./migrations/0004_wallets.ts"
import channels from "./migrations/0005_channels.ts"
import verification from "./migrations/0006_verification.ts"
import schedules from "./migrations/0007_schedules.ts"
import walletPayments from "./migrations/0008_wallet_payments.ts"
import ownerChats from "./migrations/0009_owner_chats.ts"
import a2a from "./migrations/0010_a2a.ts"
import channelSecrets from "./migrations/0011_channel_secrets.ts"
import a2aTasks from "./migrations/0012_a2a_tasks.ts"
import walletLedger from "./migrations/0013_wallet_ledger.ts"
import a2aChains from "./migrations/0014_a2a_chains.ts"
import refusedRuns from "./migrations/0015_refused_runs.ts"
import uploadedSkills from "./migrations/0016_uploaded_skills.ts"
import responses from "./migrations/0017_responses.ts"
import a2aMessages from "./migrations/0018_a2a_messages.ts"
import mcpServers from "./migrations/0019_mcp_servers.ts"
import answers from "./migrations/0020_answers.ts"
import wholeResponses from "./migrations/0021_whole_responses.ts"
import pendingMessages from "./migrations/0022_pending_messages.ts"
import attachments from "./migrations/0023_attachments.ts"
import deletedConversations from "./migrations/0024_deleted_conversations.ts"
import deliveredUnits from "./migrations/0025_delivered_units.ts"
import budgets from "./migrations/0026_budgets.ts"
import agentUnitDays from "./migrations/0027_agent_unit_days.ts"
import chargedModels from "./migrations/0028_charged_models.ts"
import largeResponses from "./migrations/0029_large_responses.ts"
import turnsOfDeletedAgents from "./migrations/0030_turns_of_deleted_agents.ts"
import listedTasks from "./migrations/0031_listed_tasks.ts"
import newestMessages from "./migrations/0032_newest_messages.ts"
import { type DatabaseUnreachable, layer, type PostgresPoolOptions } from "./PostgresPool.ts"
import { decodeRows, decodeSingleRow } from "./Rows.ts"
import { DatabaseEncodingUnsupported, type DatabaseRefused, SchemaOutdated } from "./SchemaErrors.ts"
import { type Migration, sha256Of, pendingMigrations } from "./PendingMigrations.ts"

/** All files of `migrations/`, in order. Append-only: a listed file never changes. */
export const migrations: ReadonlyArray<Migration> = [
  { id: 1, file: "0001_baseline.ts", sql: baseline },
  { id: 2, file: "0002_provisioning.ts", sql: provisioning },
  { id: 3, file: "0003_events.ts", sql: events },
  { id: 4, file: "0004_wallets.ts", sql: wallets },
  { id: 5, file: "0005_channels.ts", sql: channels },
  { id: 6, file: "0006_verification.ts", sql: verification },
  { id: 7, file: "0007_schedules.ts", sql: schedules },
  { id: 8, file: "0008_wallet_payments.ts", sql: walletPayments },
  { id: 9, file: "0009_owner_chats.ts", sql: ownerChats },
  { id: 10, file: "0010_a2a.ts", sql: a2a },
  { id: 11, file: "0011_channel_secrets.ts", sql: channelSecrets },
  { id: 12, file: "0012_a2a_tasks.ts", sql: a2aTasks },
  { id: 13, file: "0013_wallet_ledger.ts", sql: walletLedger },
  { id: 14, file: "0014_a2a_chains.ts", sql: a2aChains },
  { id: 15, file: "0015_refused_runs.ts", sql: refusedRuns },
  { id: 16, file: "0016_uploaded_skills.ts", sql: uploadedSkills },
  { id: 17, file: "0017_responses.ts", sql: responses },
  { id: 18, file: "0018_a2a_messages.ts", sql: a2aMessages },
  { id: 19, file: "0019_mcp_servers.ts", sql: mcpServers },
  { id: 20, file: "0020_answers.ts", sql: answers },
  { id: 21, file: "0021_whole_responses.ts", sql: wholeResponses },
  { id: 22, file: "0022_pending_messages.ts", sql: pendingMessages },
  { id: 23, file: "0023_attachments.ts", sql: attachments },
  { id: 24, file: "0024_deleted_conversations.ts", sql: deletedConversations },
  { id: 25, file: "0025_delivered_units.ts", sql: deliveredUnits },
  { id: 26, file: "0026_budgets.ts", sql: budgets },
  { id: 27, file: "0027_agent_unit_days.ts", sql: agentUnitDays },
  { id: 28, file: "0028_charged_models.ts", sql: chargedModels },
  { id: 29, file: "0029_large_responses.ts", sql: largeResponses },
  { id: 30, file: "0030_turns_of_deleted_agents.ts", sql: turnsOfDeletedAgents },
  { id: 31, file: "0031_listed_tasks.ts", sql: listedTasks },
  { id: 32, file: "0032_newest_messages.ts", sql: newestMessages }
]

const DatabaseRow = Schema.Struct({
  database: Schema.String,
  encoding: Schema.String,
  isOutdated: Schema.Boolean
})
const AppliedRow = Schema.Struct({ id: Schema.Int, file: Schema.String, sha256: Schema.String })

/** Rejects a database that migrations cannot update. `effect_sql_migrations` is the table of unreleased versions. */
const requireUsable = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { database, encoding, isOutdated } = yield* sql`
    select datname as database, pg_encoding_to_char(encoding) as encoding,
      to_regclass('effect_sql_migrations') is not null as is_outdated
    from pg_database where datname = current_database()`.pipe(decodeSingleRow(DatabaseRow))
  if (encoding !== "UTF8") return yield* new DatabaseEncodingUnsupported({ database, encoding })
  if (isOutdated) return yield* new SchemaOutdated({ database })
})

const applyMigration = Effect.fnUntraced(function* (migration: Migration) {
  const sql = yield* SqlClient
  yield* sql.unsafe(migration.sql)
  yield* sql`insert into schema_migrations ${sql.insert({
    id: migration.id,
    file: migration.file,
    sha256: sha256Of(migration)
  })}`
})

/** Updates the schema in one transaction. Safe in concurrent processes: an advisory lock serializes them. */
export const migrate: Effect.Effect<void, DatabaseRefused | SqlError, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  const applied = yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`set local statement_timeout = 0`
      yield* sql`select pg_advisory_xact_lock(hashtextextended('berth.migrations', 0))`
      yield* requireUsable
      yield* sql`create table if not exists schema_migrations (
        id integer primary key,
        file text not null,
        sha256 text not null,
        applied_at timestamptz not null default now()
      )`
      const rows = yield* sql`select id, file, sha256 from schema_migrations`.pipe(decodeRows(AppliedRow))
      const pending = yield* pendingMigrations(migrations, rows)
      yield* Effect.forEach(pending, applyMigration, { discard: true })
      return pending
    })
  )
  if (applied.length > 0)
    yield* Effect.logInfo("Database schema migrated").pipe(
      Effect.annotateLogs({ migrations: applied.map(({ file }) => file).join(", ") })
    )
}).pipe(Effect.withSpan("Migrations.migrate"))

/** Longer than any migration, whose statements may send no data during that time. */
const migrationTimeout = Duration.days(1)

/** Connection pool with an up-to-date schema. Migrations use a dedicated connection. */
export const layerMigrated = (
  options: PostgresPoolOptions
): Layer.Layer<PgClient | SqlClient, DatabaseUnreachable | DatabaseRefused | SqlError> =>
  Layer.unwrapEffect(
    Effect.as(
      Effect.provide(migrate, Layer.fresh(layer({ ...options, maxConnections: 1, idleTimeout: migrationTimeout }))),
      layer(options)
    )
  )
