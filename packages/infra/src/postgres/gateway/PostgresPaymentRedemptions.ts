import type { ChallengeId } from "@berth/domain/gateway/payments/Challenge"
import {
  type Payment,
  PaymentRedemptions,
  type RedemptionClaim,
  RedemptionClaimId,
  redemptionLease,
  redemptionLifetime,
  RedemptionOutcome
} from "@berth/domain/gateway/payments/PaymentRedemptions"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, Layer, Option, Schema } from "effect"
import { countAffectedRows, decodeRows, decodeFirstRow } from "../Rows.ts"

const Settled = Schema.OptionFromNullOr(Schema.DateTimeUtcFromDate)
const Claimed = Schema.Struct({ settledAt: Settled })
const SettledRow = Schema.Struct({ settledAt: Schema.DateTimeUtcFromDate })
const HashRow = Schema.Struct({ transactionHash: Schema.String })
const Known = Schema.Struct({
  challengeId: Schema.String,
  transactionHash: Schema.String,
  isAnswered: Schema.Boolean,
  isHeld: Schema.Boolean
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const ids = yield* IdGenerator
  const seconds = (duration: Duration.Duration) => sql`make_interval(secs => ${Duration.toSeconds(duration)})`
  // By the database's clock: those of hosts differ, and a lease that ends early lets two work.
  const leased = sql`now() + ${seconds(redemptionLease)}`
  const held = ({ challengeId, id }: RedemptionClaim) =>
    sql`challenge_id = ${challengeId} and claim_id = ${id} and answered_at is null`

  const insert = (claimId: string, payment: Payment) =>
    sql`
      insert into payment_redemptions
        (challenge_id, transaction_hash, plugin, chain_id, currency, recipient, amount, claim_id, lease_until)
      values (${payment.challengeId}, ${payment.transactionHash}, ${payment.plugin}, ${payment.chainId},
        ${payment.currency}, ${payment.recipient}, ${String(payment.amount)}, ${claimId}, ${leased})
      on conflict do nothing
      returning settled_at`.pipe(decodeFirstRow(Claimed))

  /** What was claimed before and has no answer, once nobody is at work on it. */
  const takeOver = (claimId: string, { challengeId, transactionHash }: Payment) =>
    sql`
      update payment_redemptions set claim_id = ${claimId}, lease_until = ${leased}
      where challenge_id = ${challengeId} and transaction_hash = ${transactionHash}
        and answered_at is null and lease_until <= now()
      returning settled_at`.pipe(decodeFirstRow(Claimed))

  const look = ({ challengeId, transactionHash }: Payment) =>
    sql`
      select challenge_id, transaction_hash, answered_at is not null as is_answered, lease_until > now() as is_held
      from payment_redemptions
      where challenge_id = ${challengeId} or transaction_hash = ${transactionHash}`.pipe(decodeRows(Known))

  const claim = (payment: Payment): Effect.Effect<RedemptionOutcome, SqlError> =>
    Effect.gen(function* () {
      const id = yield* Effect.map(ids.next("req"), (next) => RedemptionClaimId.make(next))
      const taken = yield* insert(id, payment).pipe(
        Effect.flatMap(
          Option.match({ onSome: Effect.succeedSome<typeof Claimed.Type>, onNone: () => takeOver(id, payment) })
        )
      )
      if (Option.isSome(taken))
        return RedemptionOutcome.Claimed({
          claim: { id, challengeId: payment.challengeId },
          settledAt: taken.value.settledAt
        })
      const known = yield* look(payment)
      const ours = known.find(({ challengeId }) => challengeId === payment.challengeId)
      if (ours?.isAnswered === true) return RedemptionOutcome.ChallengeUsed()
      if (ours !== undefined && ours.transactionHash !== payment.transactionHash)
        return RedemptionOutcome.ChallengeUsed()
      if (ours?.isHeld === true) return RedemptionOutcome.InProgress()
      if (ours === undefined && known.length > 0) return RedemptionOutcome.TransactionUsed()
      // It was let go, or deleted, between the two looks.
      return yield* claim(payment)
    })

  return PaymentRedemptions.of({
    findTransaction: Effect.fn("PaymentRedemptions.findTransaction")(function* (challengeId: ChallengeId) {
      const row = yield* sql`
        select transaction_hash from payment_redemptions where challenge_id = ${challengeId}`.pipe(
        decodeFirstRow(HashRow),
        Effect.orDie
      )
      return Option.map(row, ({ transactionHash }) => transactionHash)
    }),
    claim: Effect.fn("PaymentRedemptions.claim")((payment: Payment) => Effect.orDie(claim(payment))),
    renew: Effect.fn("PaymentRedemptions.renew")(function* (claim: RedemptionClaim) {
      const renewed = yield* countAffectedRows(
        sql`update payment_redemptions set lease_until = ${leased} where ${held(claim)}`
      ).pipe(Effect.orDie)
      return renewed === 1
    }),
    settle: Effect.fn("PaymentRedemptions.settle")(function* (claim: RedemptionClaim) {
      const row = yield* sql`
        update payment_redemptions set settled_at = coalesce(settled_at, now()), lease_until = ${leased}
        where ${held(claim)}
        returning settled_at`.pipe(decodeFirstRow(SettledRow), Effect.orDie)
      return Option.map(row, ({ settledAt }) => settledAt)
    }),
    complete: Effect.fn("PaymentRedemptions.complete")(function* (claim: RedemptionClaim) {
      const answered = yield* countAffectedRows(sql`
        update payment_redemptions set answered_at = now()
        where ${held(claim)} and settled_at is not null`).pipe(Effect.orDie)
      return answered === 1
    }),
    release: Effect.fn("PaymentRedemptions.release")(function* (claim: RedemptionClaim) {
      yield* Effect.orDie(sql`update payment_redemptions set lease_until = now() where ${held(claim)}`)
    }),
    prune: countAffectedRows(sql`
      delete from payment_redemptions
      where claimed_at <= now() - ${seconds(redemptionLifetime)} and lease_until <= now()`).pipe(
      Effect.orDie,
      Effect.withSpan("PaymentRedemptions.prune")
    )
  })
})

export const layer: Layer.Layer<PaymentRedemptions, never, SqlClient | IdGenerator> = Layer.effect(
  PaymentRedemptions,
  make
)
