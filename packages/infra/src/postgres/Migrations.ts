import type { PgClient } from "@effect/sql-pg/PgClient"
import { fromRecord, make, type MigrationError } from "@effect/sql/Migrator"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, Layer } from "effect"
import accounts from "./migrations/0001_accounts.ts"
import agents from "./migrations/0002_agents.ts"
import billing from "./migrations/0003_billing.ts"
import conversations from "./migrations/0004_conversations.ts"
import outbox from "./migrations/0005_outbox.ts"
import idempotencyKeys from "./migrations/0006_idempotency_keys.ts"
import modelUsage from "./migrations/0007_model_usage.ts"
import pendingReservations from "./migrations/0008_pending_reservations.ts"
import answerEvents from "./migrations/0009_answer_events.ts"
import credentials from "./migrations/0010_credentials.ts"
import modelUsageOwnKey from "./migrations/0011_model_usage_own_key.ts"
import recall from "./migrations/0012_recall.ts"
import oncePerKey from "./migrations/0013_once_per_key.ts"
import wallets from "./migrations/0014_wallets.ts"
import accountRecords from "./migrations/0015_account_records.ts"
import mailedTokens from "./migrations/0016_mailed_tokens.ts"
import linkedIdentities from "./migrations/0017_linked_identities.ts"
import paymentRedemptions from "./migrations/0018_payment_redemptions.ts"
import turnKeys from "./migrations/0019_turn_keys.ts"
import purchases from "./migrations/0020_purchases.ts"
import cardEvents from "./migrations/0021_card_events.ts"
import cardPurchases from "./migrations/0022_card_purchases.ts"
import reversals from "./migrations/0023_reversals.ts"
import { type DatabaseIsUnreachable, layer, type PostgresOptions } from "./Postgres.ts"

/** Every file of `migrations/`, by its name. Numbers are dense: one below the last that ran would be skipped in silence. */
export const migrations = {
  "0001_accounts": accounts,
  "0002_agents": agents,
  "0003_billing": billing,
  "0004_conversations": conversations,
  "0005_outbox": outbox,
  "0006_idempotency_keys": idempotencyKeys,
  "0007_model_usage": modelUsage,
  "0008_pending_reservations": pendingReservations,
  "0009_answer_events": answerEvents,
  "0010_credentials": credentials,
  "0011_model_usage_own_key": modelUsageOwnKey,
  "0012_recall": recall,
  "0013_once_per_key": oncePerKey,
  "0014_wallets": wallets,
  "0015_account_records": accountRecords,
  "0016_mailed_tokens": mailedTokens,
  "0017_linked_identities": linkedIdentities,
  "0018_payment_redemptions": paymentRedemptions,
  "0019_turn_keys": turnKeys,
  "0020_purchases": purchases,
  "0021_card_events": cardEvents,
  "0022_card_purchases": cardPurchases,
  "0023_reversals": reversals
}

const run = make({})({ loader: fromRecord(migrations) })

/**
 * Brings the schema up to date, all or nothing. Any number of processes may do so at once: the first one works, the
 * others wait for its transaction. The migrator makes its own table by a statement that fails inside a transaction
 * once two of them race, so the table is there before it looks.
 */
export const migrate: Effect.Effect<void, MigrationError | SqlError, SqlClient> = Effect.gen(function* () {
  const sql = yield* SqlClient
  const ran = yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`set local statement_timeout = 0`
      yield* sql`select pg_advisory_xact_lock(hashtextextended('berth.migrations', 0))`
      yield* sql`create table if not exists effect_sql_migrations (
        migration_id integer primary key,
        created_at timestamptz not null default now(),
        name text not null
      )`
      return yield* run
    })
  )
  if (ran.length > 0)
    yield* Effect.logInfo("The database schema is up to date").pipe(
      Effect.annotateLogs({ migrations: ran.map(([, name]) => name).join(", ") })
    )
}).pipe(Effect.withSpan("Migrations.migrate"))

/** No migration takes longer; its statements may be silent all the while. */
const patience = Duration.days(1)

/** The pool, given out only after the schema is up to date; what brings it there has a connection of its own. */
export const layerMigrated = (
  options: PostgresOptions
): Layer.Layer<PgClient | SqlClient, DatabaseIsUnreachable | MigrationError | SqlError> =>
  Layer.unwrapEffect(
    Effect.as(
      Effect.provide(migrate, Layer.fresh(layer({ ...options, maxConnections: 1, answersWithin: patience }))),
      layer(options)
    )
  )
