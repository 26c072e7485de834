import { ReferralRepository } from "@berth/domain/accounts/referrals/ReferralRepository"
import * as PostgresReferralRepository from "@berth/infra/postgres/accounts/PostgresReferralRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import { Credits } from "@berth/domain/shared/Money"

const Live = Layer.merge(PostgresReferralRepository.layer, PostgresUserRepository.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const midnight = DateTime.unsafeMake("2026-03-01T00:00:00Z")
const noon = DateTime.add(midnight, { hours: 12 })
const before = DateTime.subtract(midnight, { seconds: 1 })

layer(Live, { excludeTestServices: true })("ReferralRepository", (it) => {
  it.effect("ReferralRepository counts the rewarded referrals since a moment", () =>
    Effect.gen(function* () {
      const rewards = yield* ReferralRepository
      const referrer = yield* insertUser()
      const refer = (referrerCredits: number, at: DateTime.Utc) =>
        Effect.flatMap(insertUser(), ({ id }) =>
          rewards.insert(
            {
              newcomerId: id,
              referrerId: referrer.id,
              newcomerCredits: Credits(1.5),
              referrerCredits: Credits(referrerCredits)
            },
            at
          )
        )
      yield* refer(1.5, before)
      yield* refer(1.5, midnight)
      yield* refer(1.5, noon)
      yield* refer(0, noon)
      assert.strictEqual(yield* rewards.countSince(referrer.id, midnight), 2)
      assert.strictEqual(yield* rewards.countSince((yield* insertUser()).id, midnight), 0)
    })
  )

  it.effect("ReferralRepository grants a pending reward once under concurrent calls", () =>
    Effect.gen(function* () {
      const rewards = yield* ReferralRepository
      const [referrer, one, two] = yield* Effect.all([insertUser(), insertUser(), insertUser()])
      const reward = {
        newcomerId: one.id,
        referrerId: referrer.id,
        newcomerCredits: Credits(0.29),
        referrerCredits: Credits(1.5)
      }
      yield* rewards.insert(reward, noon)
      yield* rewards.insert({ ...reward, newcomerId: two.id }, noon)
      const taken = yield* Effect.replicateEffect(rewards.claimPending(one.id, noon), 12, { concurrency: "unbounded" })
      assert.deepEqual(
        taken.flatMap((one) => Option.toArray(one)),
        [reward]
      )
      assert.deepStrictEqual(yield* rewards.claimPending(referrer.id, noon), Option.none())
      assert.deepStrictEqual(yield* rewards.findTotals(referrer.id), { referrals: 2, pending: 1, earnedCredits: 1.5 })
      assert.deepStrictEqual(yield* rewards.findTotals(one.id), { referrals: 0, pending: 0, earnedCredits: 0 })
    })
  )

  it.effect("ReferralRepository keeps the referral of a new user when the referrer is deleted", () =>
    Effect.gen(function* () {
      const rewards = yield* ReferralRepository
      const [referrer, newcomer] = yield* Effect.all([insertUser(), insertUser()])
      const reward = {
        newcomerId: newcomer.id,
        referrerId: referrer.id,
        newcomerCredits: Credits(1),
        referrerCredits: Credits(1)
      }
      yield* rewards.insert(reward, noon)
      yield* sql`delete from users where id = ${referrer.id}`
      assert.deepStrictEqual(
        yield* rewards.claimPending(newcomer.id, noon),
        Option.some({ ...reward, referrerId: null })
      )
    })
  )
})
