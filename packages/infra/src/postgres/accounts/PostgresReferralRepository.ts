import { type ReferralReward, ReferralRepository } from "@berth/domain/accounts/referrals/ReferralRepository"
import { convertUnitsToCredits, convertCreditsToUnits } from "@berth/domain/shared/Money"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { decodeFirstRow, decodeSingleRow, execute, readCount } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"
import { UserId } from "@berth/domain/shared/UserId"

const RewardRow = Schema.Struct({
  newcomerId: UserId,
  referrerId: Schema.NullOr(UserId),
  newcomerUnits: UnitsColumn,
  referrerUnits: UnitsColumn
})
const TotalsRow = Schema.Struct({
  referrals: Schema.Number,
  pending: Schema.Number,
  earnedUnits: UnitsColumn
})

export const layer: Layer.Layer<ReferralRepository, never, SqlClient> = Layer.effect(
  ReferralRepository,
  Effect.map(SqlClient, (sql) =>
    ReferralRepository.of({
      insert: Effect.fn("ReferralRepository.insert")(
        (reward: ReferralReward & { readonly referrerId: UserId }, now: DateTime.Utc) =>
          execute(sql`
          insert into referral_rewards ${sql.insert({
            newcomerId: reward.newcomerId,
            referrerId: reward.referrerId,
            newcomerUnits: convertCreditsToUnits(reward.newcomerCredits),
            referrerUnits: convertCreditsToUnits(reward.referrerCredits),
            createdAt: DateTime.toDate(now)
          })}`)
      ),
      countSince: Effect.fn("ReferralRepository.countSince")((referrerId: UserId, since: DateTime.Utc) =>
        readCount(sql`
          select count(*)::int from referral_rewards
          where referrer_id = ${referrerId} and created_at >= ${DateTime.toDate(since)} and referrer_units > 0`)
      ),
      claimPending: Effect.fn("ReferralRepository.claimPending")(function* (newcomerId: UserId, now: DateTime.Utc) {
        const row = yield* sql`
          update referral_rewards set paid_at = ${DateTime.toDate(now)}
          where newcomer_id = ${newcomerId} and paid_at is null returning *`.pipe(decodeFirstRow(RewardRow))
        return Option.map(row, ({ newcomerUnits, referrerUnits, ...parties }) => ({
          ...parties,
          newcomerCredits: convertUnitsToCredits(newcomerUnits),
          referrerCredits: convertUnitsToCredits(referrerUnits)
        }))
      }),
      findTotals: Effect.fn("ReferralRepository.findTotals")(function* (referrerId: UserId) {
        const { earnedUnits, ...totals } = yield* sql`
          select
            count(*)::int as referrals,
            (count(*) filter (where paid_at is null))::int as pending,
            coalesce(sum(referrer_units) filter (where paid_at is not null), 0)::text as earned_units
          from referral_rewards where referrer_id = ${referrerId}`.pipe(decodeSingleRow(TotalsRow))
        return { ...totals, earnedCredits: convertUnitsToCredits(earnedUnits) }
      })
    })
  )
)
