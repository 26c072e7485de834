import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { noSpending } from "@berth/domain/wallets/payments/SpendLimits"
import {
  canChange,
  countedStatuses,
  type WalletPayment,
  WalletPaymentId,
  WalletPaymentKind,
  WalletPaymentStatus
} from "@berth/domain/wallets/payments/WalletPayment"
import { WalletPaymentRepository } from "@berth/domain/wallets/payments/WalletPaymentRepository"
import { DateTime, Effect, Option, Schema } from "effect"
import {
  affectsRow,
  decodeFirstRow,
  decodeRows,
  decodeSingleRow,
  execute,
  listColumns,
  mapFirstRow,
  mapRows,
  readCount
} from "../Rows.ts"
import * as Repository from "../Repository.ts"
import { currentDate } from "../DatabaseClock.ts"

const LimitsRow = Schema.Struct({
  perCall: Schema.BigInt,
  perDay: Schema.BigInt,
  perAgent: Schema.BigInt,
  confirmAbove: Schema.BigInt
})
const PaymentRow = Schema.Struct({
  id: WalletPaymentId,
  userId: UserId,
  agentId: Schema.NullOr(AgentId),
  turnId: Schema.String,
  kind: WalletPaymentKind,
  status: WalletPaymentStatus,
  amount: Schema.BigInt,
  payee: WalletAddress,
  resource: Schema.NullOr(Schema.String),
  fingerprint: Schema.String,
  signed: Schema.NullOr(Schema.String),
  reference: Schema.NullOr(Schema.String),
  nonce: Schema.NullOr(Schema.NumberFromString),
  validBefore: Schema.NullOr(Schema.NumberFromString),
  reason: Schema.NullOr(Schema.String),
  createdAt: Schema.DateTimeUtcFromDate
})
const SpentRow = Schema.Struct({ today: Schema.BigInt, total: Schema.BigInt })
const NonceRow = Schema.Struct({ nonce: Schema.NullOr(Schema.NumberFromString) })

const columns = listColumns("wallet_payments", PaymentRow)
const limitColumns = listColumns("wallet_limits", LimitsRow)

const toPayment = ({ nonce, reference, signed, validBefore, ...row }: typeof PaymentRow.Type): WalletPayment => ({
  ...row,
  signature: signed === null || reference === null ? null : { signed, reference, nonce, validBefore }
})

export const layer = Repository.layer(WalletPaymentRepository, (sql) => ({
  findLimits: (agentId) =>
    sql`select ${sql.literal(limitColumns)} from wallet_limits where agent_id = ${agentId}`.pipe(
      decodeFirstRow(LimitsRow),
      Effect.map(Option.getOrElse(() => noSpending))
    ),
  saveLimits: (agentId, limits) =>
    Effect.gen(function* () {
      const { confirmAbove, perAgent, perCall, perDay } = limits
      yield* execute(sql`
        insert into wallet_limits (agent_id, per_call, per_day, per_agent, confirm_above, updated_at)
        values (${agentId}, ${String(perCall)}, ${String(perDay)}, ${String(perAgent)}, ${String(confirmAbove)}, now())
        on conflict (agent_id) do update set per_call = excluded.per_call, per_day = excluded.per_day,
          per_agent = excluded.per_agent, confirm_above = excluded.confirm_above, updated_at = excluded.updated_at`)
    }),
  lockWallet: (userId) => execute(sql`select from user_wallets where user_id = ${userId} and kind = 'user' for update`),
  sumSpent: (agentId, now) =>
    sql`
      select (
          coalesce(sum(amount), 0) + coalesce((select spent_before from wallet_limits where agent_id = ${agentId}), 0)
        )::text as total,
        coalesce(sum(amount) filter (where reserved_at >= ${DateTime.toDate(DateTime.startOf(now, "day"))}), 0)::text as today
      from wallet_payments where agent_id = ${agentId} and ${sql.in("status", countedStatuses)}`.pipe(
      decodeSingleRow(SpentRow)
    ),
  countPending: (agentId, since) =>
    readCount(sql`
      select count(*)::int from wallet_payments
      where agent_id = ${agentId} and status = 'pending' and created_at > ${DateTime.toDate(since)}`),
  insert: (payment) =>
    Effect.gen(function* () {
      const { amount, createdAt, reason: _reason, signature: _signature, ...values } = payment
      const at = DateTime.toDate(createdAt)
      const reservedAt = payment.status === "reserved" ? at : null
      yield* execute(sql`
        insert into wallet_payments ${sql.insert({
          ...values,
          amount: String(amount),
          createdAt: at,
          reservedAt,
          touchedAt: at
        })}`)
    }),
  find: (agentId, id) =>
    sql`select ${sql.literal(columns)} from wallet_payments where agent_id = ${agentId} and id = ${id}`.pipe(
      mapFirstRow(PaymentRow, toPayment)
    ),
  findRepeated: ({ agentId, fingerprint, turnId }, approvedSince) =>
    sql`
      select ${sql.literal(columns)} from wallet_payments
      where agent_id = ${agentId} and fingerprint = ${fingerprint}
        and (turn_id = ${turnId} or (status = 'approved' and created_at > ${DateTime.toDate(approvedSince)}))
      order by turn_id = ${turnId} desc, created_at limit 1`.pipe(mapFirstRow(PaymentRow, toPayment)),
  moveToTurn: ({ id, turnId }) => execute(sql`update wallet_payments set turn_id = ${turnId} where id = ${id}`),
  list: (agentId, { limit, offset }) =>
    Effect.gen(function* () {
      const payments = yield* sql`
        select ${sql.literal(columns)} from wallet_payments where agent_id = ${agentId}
        order by created_at desc, id desc limit ${limit} offset ${offset}`.pipe(decodeRows(PaymentRow))
      const count = yield* readCount(sql`
        select count(*)::int from wallet_payments where agent_id = ${agentId}`)
      return { payments: payments.map(toPayment), total: count }
    }),
  listUnfinished: (before, limit) =>
    sql`
      select ${sql.literal(columns)} from (
        select *, row_number() over (partition by user_id order by touched_at) as place from wallet_payments
        where status in ('reserved', 'sent') and touched_at < ${DateTime.toDate(before)}
      ) as wallet_payments
      order by place, touched_at limit ${limit}`.pipe(mapRows(PaymentRow, toPayment)),
  changeStatus: ({ id, status }, to, reason) =>
    Effect.gen(function* () {
      if (!canChange(status, to)) return false
      const now = DateTime.toDate(yield* DateTime.now)
      return yield* affectsRow(sql`
        update wallet_payments set status = ${to}, reason = ${reason ?? null}, touched_at = ${now},
          reserved_at = case when ${to} = 'reserved' then ${now}::timestamptz else reserved_at end
        where id = ${id} and status = ${status}`)
    }),
  markSent: (id, { nonce, reference, signed, validBefore }) =>
    Effect.gen(function* () {
      return yield* affectsRow(sql`
        update wallet_payments set status = 'sent', signed = ${signed}, reference = ${reference}, nonce = ${nonce},
          valid_before = ${validBefore}, touched_at = ${DateTime.toDate(yield* DateTime.now)}
        where id = ${id} and status = 'reserved'`)
    }),
  findLastNonce: (userId) =>
    sql`select max(nonce) as nonce from wallet_payments where user_id = ${userId}`.pipe(
      decodeSingleRow(NonceRow),
      Effect.map(({ nonce }) => nonce)
    ),
  touch: (id) =>
    Effect.flatMap(currentDate, (now) => execute(sql`update wallet_payments set touched_at = ${now} where id = ${id}`)),
  revoke: (userId) =>
    Effect.gen(function* () {
      yield* execute(sql`
        update wallet_limits set per_call = 0, per_day = 0, per_agent = 0, confirm_above = 0, updated_at = now()
        from agents where agents.id = agent_id and owner_id = ${userId}`)
      yield* execute(sql`
        update wallet_payments set status = 'refused' where user_id = ${userId} and status in ('pending', 'approved')`)
    }),
  prune: ({ confirmed, unpaid }) =>
    readCount(sql`
      with removed as (
        delete from wallet_payments
        where (status = 'confirmed' and created_at < ${DateTime.toDate(confirmed)})
          or (status in ('pending', 'approved', 'refused', 'failed') and created_at < ${DateTime.toDate(unpaid)})
        returning agent_id, status, amount
      ), kept as (
        insert into wallet_limits (agent_id, per_call, per_day, per_agent, confirm_above, updated_at, spent_before)
        select agent_id, 0, 0, 0, 0, now(), sum(amount) from removed
        where status = 'confirmed' and agent_id is not null group by agent_id
        on conflict (agent_id) do update set spent_before = wallet_limits.spent_before + excluded.spent_before
      )
      select count(*)::int from removed`)
}))
