import { PaidAnswer } from "@berth/domain/gateway/payments/PaidAnswer"
import {
  maximumPaidRuns,
  paidAnswerLifetime,
  type Payment,
  PaymentRedemptions,
  type RedemptionClaim,
  RedemptionClaimId,
  redemptionLifetime,
  RedemptionOutcome
} from "@berth/domain/gateway/payments/PaymentRedemptions"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import type { PgClient } from "@effect/sql-pg/PgClient"
import { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Duration, Effect, Layer, Option, Schema } from "effect"
import { promisify } from "node:util"
import { gunzip, gzip } from "node:zlib"
import { makeLeaseTable, wakeupsLayer } from "../LeaseTable.ts"
import { affectsRow, countAffectedRows, decodeFirstRow, decodeRows, mapFirstRow } from "../Rows.ts"
import * as Repository from "../Repository.ts"

const Settled = Schema.OptionFromNullOr(Schema.DateTimeUtcFromDate)
const Claimed = Schema.Struct({ settledAt: Settled })
const SettledRow = Schema.Struct({ settledAt: Schema.DateTimeUtcFromDate })
const HashRow = Schema.Struct({ transactionHash: Schema.String })
const StoredPayment = Schema.Struct({
  challengeId: Schema.String,
  transactionHash: Schema.String,
  isAnswered: Schema.Boolean,
  isHeld: Schema.Boolean,
  runs: Schema.Int
})
const AnswerRow = Schema.Struct({ answer: Schema.Uint8ArrayFromSelf, settledAt: Schema.DateTimeUtcFromDate })

const compress = promisify(gzip)
const decompress = promisify(gunzip)
const encodeAnswer = Schema.encode(Schema.parseJson(PaidAnswer))
const decodeAnswer = Schema.decode(Schema.parseJson(PaidAnswer))

const packAnswer = (answer: PaidAnswer) =>
  Effect.flatMap(Effect.orDie(encodeAnswer(answer)), (json) => Effect.promise(() => compress(json)))
const unpackAnswer = (packed: Uint8Array) =>
  Effect.flatMap(
    Effect.promise(() => decompress(packed)),
    (json) => Effect.orDie(decodeAnswer(json.toString("utf8")))
  )

const make = Effect.gen(function* () {
  const sql = yield* SqlClient
  const ids = yield* IdGenerator
  const seconds = (duration: Duration.Duration) => sql`make_interval(secs => ${Duration.toSeconds(duration)})`
  const leases = yield* makeLeaseTable("payment_redemptions", { key: "challenge_id", completed: "answered_at" })
  const { leased } = leases
  const leaseOf = ({ challengeId, id }: RedemptionClaim) => ({ key: challengeId, claimId: id })
  const isHeld = (claim: RedemptionClaim) => leases.isHeld(leaseOf(claim))

  const insert = (claimId: string, payment: Payment) =>
    sql`
      insert into payment_redemptions
        (challenge_id, transaction_hash, plugin, chain_id, currency, recipient, amount, claim_id, lease_until)
      values (${payment.challengeId}, ${payment.transactionHash}, ${payment.plugin}, ${payment.chainId},
        ${payment.currency}, ${payment.recipient}, ${String(payment.amount)}, ${claimId}, ${leased})
      on conflict do nothing
      returning settled_at`.pipe(decodeFirstRow(Claimed))

  /** Claims an unanswered payment with an expired lease. */
  const takeOver = (claimId: string, { challengeId, transactionHash }: Payment) =>
    sql`
      update payment_redemptions set claim_id = ${claimId}, lease_until = ${leased}
      where challenge_id = ${challengeId} and transaction_hash = ${transactionHash}
        and answered_at is null and lease_until <= now() and runs < ${maximumPaidRuns}
      returning settled_at`.pipe(decodeFirstRow(Claimed))

  const findStored = ({ challengeId, transactionHash }: Payment) =>
    sql`
      select challenge_id, transaction_hash, answered_at is not null as is_answered, lease_until > now() as is_held, runs
      from payment_redemptions
      where challenge_id = ${challengeId} or transaction_hash = ${transactionHash}`.pipe(decodeRows(StoredPayment))

  const findAnswer = (challengeId: string) =>
    sql`
      select answer, settled_at from payment_redemptions
      where challenge_id = ${challengeId} and answer is not null
        and answered_at > now() - ${seconds(paidAnswerLifetime)}`.pipe(
      decodeFirstRow(AnswerRow),
      Effect.flatMap(
        Option.match({
          onNone: (): Effect.Effect<RedemptionOutcome> => Effect.succeed(RedemptionOutcome.ChallengeUsed()),
          onSome: ({ answer, settledAt }) =>
            Effect.map(unpackAnswer(answer), (unpacked) => RedemptionOutcome.Answered({ answer: unpacked, settledAt }))
        })
      )
    )

  const claim = Effect.fnUntraced(function* (payment: Payment): Effect.fn.Return<RedemptionOutcome, SqlError> {
    const id = yield* Effect.map(ids.next("req"), (next) => RedemptionClaimId.make(next))
    const claimed = yield* insert(id, payment).pipe(
      Effect.flatMap(
        Option.match({ onSome: Effect.succeedSome<typeof Claimed.Type>, onNone: () => takeOver(id, payment) })
      )
    )
    if (Option.isSome(claimed))
      return RedemptionOutcome.Claimed({
        claim: { id, challengeId: payment.challengeId },
        settledAt: claimed.value.settledAt
      })
    const stored = yield* findStored(payment)
    const own = stored.find(({ challengeId }) => challengeId === payment.challengeId)
    if (own === undefined) return stored.length > 0 ? RedemptionOutcome.TransactionUsed() : yield* claim(payment)
    if (own.transactionHash !== payment.transactionHash) return RedemptionOutcome.ChallengeUsed()
    if (own.isAnswered) return yield* findAnswer(own.challengeId)
    if (own.isHeld) return RedemptionOutcome.InProgress()
    // Released or deleted between the two statements, unless all runs are used.
    return own.runs >= maximumPaidRuns ? RedemptionOutcome.RunsExhausted() : yield* claim(payment)
  })

  return PaymentRedemptions.of({
    findTransaction: (challengeId) =>
      sql`
        select transaction_hash from payment_redemptions where challenge_id = ${challengeId}`.pipe(
        mapFirstRow(HashRow, ({ transactionHash }) => transactionHash)
      ),
    claim: (payment) => Effect.orDie(claim(payment)),
    subscribe: leases.subscribe,
    renew: (claim) => leases.renew(leaseOf(claim)),
    settle: (claim) =>
      sql`
        update payment_redemptions set settled_at = coalesce(settled_at, now()), lease_until = ${leased}
        where ${isHeld(claim)}
        returning settled_at`.pipe(mapFirstRow(SettledRow, ({ settledAt }) => settledAt)),
    beginRun: (claim) =>
      affectsRow(sql`update payment_redemptions set runs = runs + 1, lease_until = ${leased} where ${isHeld(claim)}`),
    complete: (claim, answer) =>
      Effect.gen(function* () {
        const packed = yield* packAnswer(answer)
        const complete = sql`
          update payment_redemptions set answered_at = now(), answer = ${packed}
          where ${isHeld(claim)} and settled_at is not null`
        return yield* leases.end(leaseOf(claim), complete)
      }),
    release: (claim) => {
      const release = sql`update payment_redemptions set lease_until = now() where ${isHeld(claim)}`
      return Effect.asVoid(leases.end(leaseOf(claim), release))
    },
    prune: sql`
      update payment_redemptions set answer = null
      where answer is not null and answered_at <= now() - ${seconds(paidAnswerLifetime)}`.pipe(
      Effect.zipRight(
        countAffectedRows(sql`
          delete from payment_redemptions
          where claimed_at <= now() - ${seconds(redemptionLifetime)} and lease_until <= now()`)
      ),
      Effect.orDie
    )
  })
})

export const layer: Layer.Layer<PaymentRedemptions, never, PgClient | SqlClient | IdGenerator> = Repository.layerEffect(
  PaymentRedemptions,
  make,
  { untraced: ["subscribe"] }
).pipe(Layer.provide(wakeupsLayer))
