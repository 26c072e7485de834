import type { PaidAnswer } from "@berth/domain/gateway/payments/PaidAnswer"
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
import { leaseDuration } from "@berth/domain/limits/Lease"
import { Clock, DateTime, Duration, Effect, Layer, Option, Ref } from "effect"

interface Row extends Payment {
  readonly claimId: string
  readonly leaseUntil: number
  readonly claimedAt: number
  readonly settledAt: Option.Option<DateTime.Utc>
  readonly runs: number
  readonly answered: Option.Option<{ readonly answer: PaidAnswer; readonly at: number }>
}

/** Payments in memory, with leases by the test clock. */
const make = Effect.gen(function* () {
  const rows = yield* Ref.make<ReadonlyArray<Row>>([])
  const made = yield* Ref.make(0)

  /** Changes the row of a claim; none if the claim is lost. */
  const change = (claim: RedemptionClaim, how: (row: Row, now: number) => Row) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Ref.modify(rows, (all) => {
        const isHeld = (row: Row) =>
          row.challengeId === claim.challengeId && row.claimId === claim.id && Option.isNone(row.answered)
        const changed = all.map((row) => (isHeld(row) ? how(row, now) : row))
        return [Option.fromNullable(changed.find((_, position) => changed[position] !== all[position])), changed]
      })
    )

  const lease = (now: number) => now + Duration.toMillis(leaseDuration)

  return PaymentRedemptions.of({
    findTransaction: (challengeId) =>
      Effect.map(Ref.get(rows), (all) =>
        Option.map(
          Option.fromNullable(all.find((row) => row.challengeId === challengeId)),
          ({ transactionHash }) => transactionHash
        )
      ),
    claim: (payment) =>
      Effect.gen(function* () {
        const id = RedemptionClaimId.make(`claim ${yield* Ref.updateAndGet(made, (current) => current + 1)}`)
        const now = yield* Clock.currentTimeMillis
        const claim = { id, challengeId: payment.challengeId }
        return yield* Ref.modify(rows, (all): readonly [RedemptionOutcome, ReadonlyArray<Row>] => {
          const ours = all.find(({ challengeId }) => challengeId === payment.challengeId)
          if (ours === undefined) {
            if (all.some(({ transactionHash }) => transactionHash === payment.transactionHash))
              return [RedemptionOutcome.TransactionUsed(), all]
            const row = {
              ...payment,
              claimId: id,
              leaseUntil: lease(now),
              claimedAt: now,
              settledAt: Option.none(),
              runs: 0,
              answered: Option.none()
            }
            return [RedemptionOutcome.Claimed({ claim, settledAt: Option.none() }), [...all, row]]
          }
          if (ours.transactionHash !== payment.transactionHash) return [RedemptionOutcome.ChallengeUsed(), all]
          if (Option.isSome(ours.answered)) {
            const { answer, at } = ours.answered.value
            return Option.isSome(ours.settledAt) && at > now - Duration.toMillis(paidAnswerLifetime)
              ? [RedemptionOutcome.Answered({ answer, settledAt: ours.settledAt.value }), all]
              : [RedemptionOutcome.ChallengeUsed(), all]
          }
          if (ours.leaseUntil > now) return [RedemptionOutcome.InProgress(), all]
          if (ours.runs >= maximumPaidRuns) return [RedemptionOutcome.RunsExhausted(), all]
          const taken = { ...ours, claimId: id, leaseUntil: lease(now) }
          return [
            RedemptionOutcome.Claimed({ claim, settledAt: ours.settledAt }),
            all.map((row) => (row === ours ? taken : row))
          ]
        })
      }),
    subscribe: () => Effect.succeed(Effect.sleep("250 millis")),
    renew: (claim) =>
      Effect.map(
        change(claim, (row, now) => ({ ...row, leaseUntil: lease(now) })),
        Option.isSome
      ),
    settle: (claim) =>
      Effect.map(
        change(claim, (row, now) => ({
          ...row,
          leaseUntil: lease(now),
          settledAt: Option.orElseSome(row.settledAt, () => DateTime.unsafeMake(now))
        })),
        Option.flatMap(({ settledAt }) => settledAt)
      ),
    beginRun: (claim) =>
      Effect.map(
        change(claim, (row, now) => ({ ...row, runs: row.runs + 1, leaseUntil: lease(now) })),
        Option.isSome
      ),
    complete: (claim, answer) =>
      Effect.map(
        change(claim, (row, now) =>
          Option.isSome(row.settledAt) ? { ...row, answered: Option.some({ answer, at: now }) } : row
        ),
        Option.isSome
      ),
    release: (claim) => Effect.asVoid(change(claim, (row, now) => ({ ...row, leaseUntil: now }))),
    prune: Effect.flatMap(Clock.currentTimeMillis, (now) =>
      Ref.modify(rows, (all) => {
        const young = all.filter(
          ({ claimedAt, leaseUntil }) => claimedAt > now - Duration.toMillis(redemptionLifetime) || leaseUntil > now
        )
        return [all.length - young.length, young]
      })
    )
  })
})

export const layer: Layer.Layer<PaymentRedemptions> = Layer.effect(PaymentRedemptions, make)
