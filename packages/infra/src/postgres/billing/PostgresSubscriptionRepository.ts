import type { UserId } from "@berth/domain/shared/UserId"
import { findEffectivePlan, Subscription } from "@berth/domain/billing/subscriptions/Subscription"
import {
  type CardSubscriptionTerms,
  SubscriptionRepository
} from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { decodeFirstRow, execute } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import { StoredPlan } from "../shared/StoredPlan.ts"

const SubscriptionRow = Schema.Struct({ ...Subscription.fields, plan: StoredPlan })

const TermsRow = Schema.Struct({
  customerId: Schema.String,
  subscriptionId: Schema.String,
  currentPeriodEnd: Schema.OptionFromNullOr(Schema.DateTimeUtcFromDate),
  lastEventAt: Schema.DateTimeUtcFromDate
})

const columnsOfTerms = Option.match({
  onNone: () => ({ customerId: null, subscriptionId: null, currentPeriodEnd: null, lastEventAt: null }),
  onSome: (terms: CardSubscriptionTerms) => ({
    customerId: toStorableText(terms.customerId),
    subscriptionId: toStorableText(terms.subscriptionId),
    currentPeriodEnd: Option.getOrNull(Option.map(terms.currentPeriodEnd, DateTime.toDate)),
    lastEventAt: DateTime.toDate(terms.lastEventAt)
  })
})

export const layer: Layer.Layer<SubscriptionRepository, never, SqlClient> = Layer.effect(
  SubscriptionRepository,
  Effect.map(SqlClient, (sql) => {
    // One statement, so that the user's plan always equals the subscription's.
    const save = (subscription: Subscription, terms: Option.Option<CardSubscriptionTerms>) =>
      Effect.gen(function* () {
        const now = yield* DateTime.now
        const row = {
          userId: subscription.userId,
          plan: subscription.plan,
          status: subscription.status,
          updatedAt: DateTime.toDate(now),
          ...columnsOfTerms(terms)
        }
        yield* execute(sql`
          with saved as (
            insert into subscriptions ${sql.insert(row)}
            on conflict (user_id) do update
              set plan = excluded.plan, status = excluded.status, updated_at = excluded.updated_at,
                customer_id = excluded.customer_id, subscription_id = excluded.subscription_id,
                current_period_end = excluded.current_period_end, last_event_at = excluded.last_event_at
            returning user_id
          )
          update users set plan = ${findEffectivePlan(subscription)}
          from saved where users.id = saved.user_id`)
      })
    return SubscriptionRepository.of({
      find: Effect.fn("SubscriptionRepository.find")((userId: UserId) =>
        sql`select user_id, plan, status from subscriptions where user_id = ${userId}`.pipe(
          decodeFirstRow(SubscriptionRow)
        )
      ),
      save: Effect.fn("SubscriptionRepository.save")(function* (subscription: Subscription) {
        yield* save(subscription, Option.none())
      }),
      findTerms: Effect.fn("SubscriptionRepository.findTerms")((userId: UserId) =>
        sql`
          select customer_id, subscription_id, current_period_end, last_event_at from subscriptions
          where user_id = ${userId} and subscription_id is not null`.pipe(decodeFirstRow(TermsRow))
      ),
      saveWithTerms: Effect.fn("SubscriptionRepository.saveWithTerms")(function* (subscription, terms) {
        yield* save(subscription, Option.some(terms))
      })
    })
  })
)
