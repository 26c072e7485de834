import { ReferralRepository } from "@berth/domain/accounts/referrals/ReferralRepository"
import { convertUnitsToCredits, convertCreditsToUnits } from "@berth/domain/shared/Money"
import { DateTime, Effect, Schema } from "effect"
import { decodeSingleRow, execute, mapFirstRow, readCount } from "../Rows.ts"
import { UnitsColumn } from "../shared/MoneyColumns.ts"
import { UserId } from "@berth/domain/shared/UserId"
import * as Repository from "../Repository.ts"

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

export const layer = Repository.layer(ReferralRepository, (sql) => ({
  insert: (reward, now) =>
    execute(sql`
      insert into referral_rewards ${sql.insert({
        newcomerId: reward.newcomerId,
        referrerId: reward.referrerId,
        newcomerUnits: convertCreditsToUnits(reward.newcomerCredits),
        referrerUnits: convertCreditsToUnits(reward.referrerCredits),
        createdAt: DateTime.toDate(now)
      })}`),
  countSince: (referrerId, since) =>
    readCount(sql`
      select count(*)::int from referral_rewards
      where referrer_id = ${referrerId} and created_at >= ${DateTime.toDate(since)} and referrer_units > 0`),
  claimPending: (newcomerId, now) =>
    sql`
      update referral_rewards set paid_at = ${DateTime.toDate(now)}
      where newcomer_id = ${newcomerId} and paid_at is null returning *`.pipe(
      mapFirstRow(RewardRow, ({ newcomerUnits, referrerUnits, ...parties }) => ({
        ...parties,
        newcomerCredits: convertUnitsToCredits(newcomerUnits),
        referrerCredits: convertUnitsToCredits(referrerUnits)
      }))
    ),
  findTotals: (referrerId) =>
    sql`
      select
        count(*)::int as referrals,
        (count(*) filter (where paid_at is null))::int as pending,
        coalesce(sum(referrer_units) filter (where paid_at is not null), 0)::text as earned_units
      from referral_rewards where referrer_id = ${referrerId}`.pipe(
      decodeSingleRow(TotalsRow),
      Effect.map(({ earnedUnits, ...totals }) => ({ ...totals, earnedCredits: convertUnitsToCredits(earnedUnits) }))
    )
}))
