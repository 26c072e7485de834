import type { UserId } from "@berth/domain/accounts/User"
import { Subscription, SubscriptionRepository } from "@berth/domain/billing/Subscription"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Schema } from "effect"
import { first } from "./Rows.ts"
import { StoredPlan } from "./StoredPlan.ts"

const SubscriptionRow = Schema.Struct({ ...Subscription.fields, plan: StoredPlan })

export const layer: Layer.Layer<SubscriptionRepository, never, SqlClient> = Layer.effect(
  SubscriptionRepository,
  Effect.map(SqlClient, (sql) =>
    SubscriptionRepository.of({
      find: Effect.fn("SubscriptionRepository.find")(function* (userId: UserId) {
        return yield* sql`select user_id, plan, status from subscriptions where user_id = ${userId}`.pipe(
          first(SubscriptionRow),
          Effect.orDie
        )
      }),
      // One statement: the plan that a user is shown, and charged by, is never another than the one he subscribes to.
      save: Effect.fn("SubscriptionRepository.save")(function* (subscription: Subscription) {
        const now = yield* DateTime.now
        yield* sql`
          with saved as (
            insert into subscriptions ${sql.insert({
              userId: subscription.userId,
              plan: subscription.plan,
              status: subscription.status,
              updatedAt: DateTime.toDate(now)
            })}
            on conflict (user_id) do update
              set plan = excluded.plan, status = excluded.status, updated_at = excluded.updated_at
            returning user_id, plan, status
          )
          update users set plan = case saved.status when 'active' then saved.plan else 'free' end
          from saved where users.id = saved.user_id`.pipe(Effect.orDie)
      })
    })
  )
)
