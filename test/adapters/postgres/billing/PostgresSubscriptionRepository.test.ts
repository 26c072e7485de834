import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { SubscriptionRepository } from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import * as PostgresSubscriptionRepository from "@berth/infra/postgres/billing/PostgresSubscriptionRepository"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser } from "../../../support/Samples.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.merge(PostgresSubscriptionRepository.layer, PostgresUserRepository.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const plans = ["pro", "scale", "network"] as const
const statuses = ["active", "past_due", "canceled"] as const

layer(Live, { excludeTestServices: true })("SubscriptionRepository", (it) => {
  it.effect("SubscriptionRepository.save gives the user the plan of the active subscription, else the free one", () =>
    Effect.gen(function* () {
      const subscriptions = yield* SubscriptionRepository
      const users = yield* UserRepository
      const user = yield* insertUser()
      const shown = Effect.map(users.find(user.id), (found) => Option.getOrThrow(found).plan)
      assert.deepStrictEqual(yield* subscriptions.find(user.id), Option.none())
      for (const plan of plans)
        for (const status of statuses) {
          const subscription = { userId: user.id, plan, status }
          yield* subscriptions.save(subscription)
          assert.deepStrictEqual(yield* subscriptions.find(user.id), Option.some(subscription))
          assert.strictEqual(yield* shown, status === "active" ? plan : "free")
        }
    })
  )

  it.effect("SubscriptionRepository.findTerms returns the terms of the last save, none after one without a card", () =>
    Effect.gen(function* () {
      const subscriptions = yield* SubscriptionRepository
      const user = yield* insertUser()
      const subscription = { userId: user.id, plan: "pro", status: "active" } as const
      yield* subscriptions.save(subscription)
      assert.deepStrictEqual(yield* subscriptions.findTerms(user.id), Option.none())
      const terms = {
        customerId: "cus_1",
        subscriptionId: "sub_1",
        currentPeriodEnd: Option.some(DateTime.unsafeMake("2030-01-01T00:00:00Z")),
        lastEventAt: DateTime.unsafeMake("2029-12-01T00:00:00Z")
      }
      for (const next of [terms, { ...terms, subscriptionId: "sub_2", currentPeriodEnd: Option.none() }]) {
        yield* subscriptions.saveWithTerms({ ...subscription, plan: "scale" }, next)
        assert.deepStrictEqual(yield* subscriptions.findTerms(user.id), Option.some(next))
        yield* subscriptions.save(subscription)
        assert.deepStrictEqual(yield* subscriptions.findTerms(user.id), Option.none())
        assert.deepStrictEqual(yield* subscriptions.find(user.id), Option.some(subscription))
      }
    })
  )

  it.effect("SubscriptionRepository keeps both states consistent under concurrent saves", () =>
    Effect.gen(function* () {
      const subscriptions = yield* SubscriptionRepository
      const users = yield* UserRepository
      const user = yield* insertUser()
      const saves = plans.flatMap((plan) => statuses.map((status) => ({ userId: user.id, plan, status })))
      yield* Effect.forEach([...saves, ...saves, ...saves], subscriptions.save, { concurrency: "unbounded" })
      const subscription = Option.getOrThrow(yield* subscriptions.find(user.id))
      assert.strictEqual(
        Option.getOrThrow(yield* users.find(user.id)).plan,
        subscription.status === "active" ? subscription.plan : "free"
      )
    })
  )
})
