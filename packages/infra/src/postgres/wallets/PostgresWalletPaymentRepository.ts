import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"
import { noSpending, type SpendLimits } from "@berth/domain/wallets/payments/SpendLimits"
import {
  canChange,
  countedStatuses,
  type SignedPayment,
  type WalletPayment,
  WalletPaymentId,
  WalletPaymentKind,
  WalletPaymentStatus
} from "@berth/domain/wallets/payments/WalletPayment"
import { WalletPaymentRepository } from "@berth/domain/wallets/payments/WalletPaymentRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { affectsRow, decodeFirstRow, decodeRows, decodeSingleRow, execute, listColumns, readCount } from "../Rows.ts"

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

export const layer: Layer.Layer<WalletPaymentRepository, never, SqlClient> = Layer.effect(
  WalletPaymentRepository,
  Effect.map(SqlClient, (sql) =>
    WalletPaymentRepository.of({
      findLimits: Effect.fn("WalletPaymentRepository.findLimits")((agentId: AgentId) =>
        sql`select ${sql.literal(limitColumns)} from wallet_limits where agent_id = ${agentId}`.pipe(
          decodeFirstRow(LimitsRow),
          Effect.map(Option.getOrElse(() => noSpending))
        )
      ),
      saveLimits: Effect.fn("WalletPaymentRepository.saveLimits")(function* (agentId: AgentId, limits: SpendLimits) {
        const { confirmAbove, perAgent, perCall, perDay } = limits
        yield* execute(sql`
          insert into wallet_limits (agent_id, per_call, per_day, per_agent, confirm_above, updated_at)
          values (${agentId}, ${String(perCall)}, ${String(perDay)}, ${String(perAgent)}, ${String(confirmAbove)}, now())
          on conflict (agent_id) do update set per_call = excluded.per_call, per_day = excluded.per_day,
            per_agent = excluded.per_agent, confirm_above = excluded.confirm_above, updated_at = excluded.updated_at`)
      }),
      lockWallet: Effect.fn("WalletPaymentRepository.lockWallet")((userId: UserId) =>
        execute(sql`select from user_wallets where user_id = ${userId} and kind = 'user' for update`)
      ),
      sumSpent: Effect.fn("WalletPaymentRepository.sumSpent")((agentId: AgentId, now: DateTime.Utc) =>
        sql`
          select (
              coalesce(sum(amount), 0) + coalesce((select spent_before from wallet_limits where agent_id = ${agentId}), 0)
            )::text as total,
            coalesce(sum(amount) filter (where reserved_at >= ${DateTime.toDate(DateTime.startOf(now, "day"))}), 0)::text as today
          from wallet_payments where agent_id = ${agentId} and ${sql.in("status", countedStatuses)}`.pipe(
          decodeSingleRow(SpentRow)
        )
      ),
      countPending: Effect.fn("WalletPaymentRepository.countPending")((agentId: AgentId, since: DateTime.Utc) =>
        readCount(sql`
          select count(*)::int from wallet_payments
          where agent_id = ${agentId} and status = 'pending' and created_at > ${DateTime.toDate(since)}`)
      ),
      insert: Effect.fn("WalletPaymentRepository.insert")(function* (payment: WalletPayment) {
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
      find: Effect.fn("WalletPaymentRepository.find")((agentId: AgentId, id: WalletPaymentId) =>
        sql`select ${sql.literal(columns)} from wallet_payments where agent_id = ${agentId} and id = ${id}`.pipe(
          decodeFirstRow(PaymentRow),
          Effect.map(Option.map(toPayment))
        )
      ),
      findRepeated: Effect.fn("WalletPaymentRepository.findRepeated")(
        ({ agentId, fingerprint, turnId }, approvedSince: DateTime.Utc) =>
          sql`
            select ${sql.literal(columns)} from wallet_payments
            where agent_id = ${agentId} and fingerprint = ${fingerprint}
              and (turn_id = ${turnId} or (status = 'approved' and created_at > ${DateTime.toDate(approvedSince)}))
            order by turn_id = ${turnId} desc, created_at limit 1`.pipe(
            decodeFirstRow(PaymentRow),
            Effect.map(Option.map(toPayment))
          )
      ),
      moveToTurn: Effect.fn("WalletPaymentRepository.moveToTurn")(
        ({ id, turnId }: Pick<WalletPayment, "id" | "turnId">) =>
          execute(sql`update wallet_payments set turn_id = ${turnId} where id = ${id}`)
      ),
      list: Effect.fn("WalletPaymentRepository.list")(function* (agentId: AgentId, { limit, offset }) {
        const payments = yield* sql`
          select ${sql.literal(columns)} from wallet_payments where agent_id = ${agentId}
          order by created_at desc, id desc limit ${limit} offset ${offset}`.pipe(decodeRows(PaymentRow))
        const count = yield* readCount(sql`
          select count(*)::int from wallet_payments where agent_id = ${agentId}`)
        return { payments: payments.map(toPayment), total: count }
      }),
      listUnfinished: Effect.fn("WalletPaymentRepository.listUnfinished")((before: DateTime.Utc, limit: number) =>
        sql`
          select ${sql.literal(columns)} from (
            select *, row_number() over (partition by user_id order by touched_at) as place from wallet_payments
            where status in ('reserved', 'sent') and touched_at < ${DateTime.toDate(before)}
          ) as wallet_payments
          order by place, touched_at limit ${limit}`.pipe(
          decodeRows(PaymentRow),
          Effect.map((rows) => rows.map(toPayment))
        )
      ),
      changeStatus: Effect.fn("WalletPaymentRepository.changeStatus")(function* (
        { id, status }: Pick<WalletPayment, "id" | "status">,
        to: WalletPaymentStatus,
        reason?: string
      ) {
        if (!canChange(status, to)) return false
        const now = DateTime.toDate(yield* DateTime.now)
        return yield* affectsRow(sql`
          update wallet_payments set status = ${to}, reason = ${reason ?? null}, touched_at = ${now},
            reserved_at = case when ${to} = 'reserved' then ${now}::timestamptz else reserved_at end
          where id = ${id} and status = ${status}`)
      }),
      markSent: Effect.fn("WalletPaymentRepository.markSent")(function* (
        id: WalletPaymentId,
        { nonce, reference, signed, validBefore }: SignedPayment
      ) {
        return yield* affectsRow(sql`
          update wallet_payments set status = 'sent', signed = ${signed}, reference = ${reference}, nonce = ${nonce},
            valid_before = ${validBefore}, touched_at = ${DateTime.toDate(yield* DateTime.now)}
          where id = ${id} and status = 'reserved'`)
      }),
      findLastNonce: Effect.fn("WalletPaymentRepository.findLastNonce")((userId: UserId) =>
        sql`select max(nonce) as nonce from wallet_payments where user_id = ${userId}`.pipe(
          decodeSingleRow(NonceRow),
          Effect.map(({ nonce }) => nonce)
        )
      ),
      touch: Effect.fn("WalletPaymentRepository.touch")(function* (id: WalletPaymentId) {
        const now = DateTime.toDate(yield* DateTime.now)
        yield* execute(sql`update wallet_payments set touched_at = ${now} where id = ${id}`)
      }),
      revoke: Effect.fn("WalletPaymentRepository.revoke")(function* (userId: UserId) {
        yield* execute(sql`
          update wallet_limits set per_call = 0, per_day = 0, per_agent = 0, confirm_above = 0, updated_at = now()
          from agents where agents.id = agent_id and owner_id = ${userId}`)
        yield* execute(sql`
          update wallet_payments set status = 'refused' where user_id = ${userId} and status in ('pending', 'approved')`)
      }),
      prune: Effect.fn("WalletPaymentRepository.prune")(({ confirmed, unpaid }) =>
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
      )
    })
  )
)
