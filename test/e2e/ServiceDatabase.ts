import * as PostgresPool from "@berth/infra/postgres/PostgresPool"
import { SqlClient } from "@effect/sql/SqlClient"
import { Effect, type Redacted } from "effect"
import type { AgentId } from "@berth/domain/shared/AgentId"
import type { PlanId } from "@berth/domain/shared/PlanId"
import type { UserId } from "@berth/domain/shared/UserId"

/** Database of a running service, for values without a route. */
export const layer = (url: Redacted.Redacted) => PostgresPool.layer({ url, maxConnections: 3, applicationName: "test" })

/** Adds a subscription; the plan of the user row is unchanged. */
export const insertSubscription = (userId: UserId, plan: PlanId) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`
      insert into subscriptions ${sql.insert({ userId, plan, status: "active", updatedAt: new Date() })}`
  )

export const setUsedUnits = (userId: UserId, used: number) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`
      insert into unit_days (user_id, day, used) values (${userId}, (now() at time zone 'utc')::date, ${used})`
  )

/** The stored cost of the deliveries of the user's open streams. */
export const readDeliveredUnits = (userId: UserId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows = yield* sql<{ units: number }>`
      select coalesce(sum(delivered_units), 0)::int as units from reservations
      where user_id = ${userId} and state = 'reserved'`
    return rows[0]?.units
  })

/** The stored deltas of the answers to a user. */
export const countStoredDeltas = (userId: UserId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows = yield* sql<{ count: number }>`
      select coalesce(sum(answer_events.delta_count), 0)::int as count from answer_events
      join messages on messages.id = message_id where user_id = ${userId}`
    return rows[0]?.count
  })

/** Outcomes and costs of a user's messages. */
export const readMessageAccounts = (userId: UserId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{
      answered: number
      pending: number
      failed: number
      replies: number
      used: number
      booked: number
      open: number
      ledger: number
    }>`
      select
        (select count(*)::int from messages where user_id = ${userId} and sender = 'user' and state = 'answered') as answered,
        (select count(*)::int from messages where user_id = ${userId} and sender = 'user' and state = 'pending') as pending,
        (select count(*)::int from messages where user_id = ${userId} and sender = 'user' and state = 'failed') as failed,
        (select count(*)::int from messages where user_id = ${userId} and sender = 'agent' and state = 'answered') as replies,
        (select coalesce(sum(used), 0)::int from unit_days where user_id = ${userId}) as used,
        (select coalesce(sum(settled_daily_units + settled_credit_units), 0)::int from reservations
          where user_id = ${userId}) as booked,
        (select count(*)::int from reservations where user_id = ${userId} and state = 'reserved') as open,
        (select coalesce(sum(units), 0)::int from ledger_entries
          where user_id = ${userId} and account = 'usage') as ledger`
    return row ?? (yield* Effect.dieMessage("no row"))
  })

/** Desired state of an owner's instance. */
export const readDesiredState = (userId: UserId) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ desired: string }>`select desired from instances where owner_id = ${userId}`
    return row?.desired
  })

/** Inserts a pending transfer of an agent, to be approved by its owner; returns its id. */
export const insertPendingTransfer = (userId: UserId, agentId: AgentId, payee: string, amount: number) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ id: string }>`
      insert into wallet_payments
        (id, user_id, agent_id, turn_id, kind, status, amount, payee, fingerprint, created_at, touched_at)
      values ('pay_' || gen_random_uuid(), ${userId}, ${agentId}, 'turn', 'send_usdc', 'pending', ${amount}, ${payee},
        'transfer', now(), now())
      returning id`
    return row?.id ?? (yield* Effect.dieMessage("no row"))
  })

/** Backdates a payment by a minute, as one without a process. */
export const agePayment = (id: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`update wallet_payments set touched_at = now() - interval '1 minute' where id = ${id}`
  )
