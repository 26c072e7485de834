import { findEffectivePlan, Subscription } from "@berth/domain/billing/subscriptions/Subscription"
import {
  type CardSubscriptionTerms,
  SubscriptionRepository
} from "@berth/domain/billing/subscriptions/SubscriptionRepository"
import { DateTime, Effect, Option, Schema } from "effect"
import { decodeFirstRow, execute } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import { StoredPlan } from "../shared/StoredPlan.ts"
import * as Repository from "../Repository.ts"

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

export const layer = Repository.layer(SubscriptionRepository, (sql) => {
  // One statement, so that the user's plan always equals the subscription's.
  const save = Effect.fnUntraced(function* (subscription: Subscription, terms: Option.Option<CardSubscriptionTerms>) {
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
  return {
    find: (userId) =>
      sql`select user_id, plan, status from subscriptions where user_id = ${userId}`.pipe(
        decodeFirstRow(SubscriptionRow)
      ),
    save: (subscription) => save(subscription, Option.none()),
    findTerms: (userId) =>
      sql`
        select customer_id, subscription_id, current_period_end, last_event_at from subscriptions
        where user_id = ${userId} and subscription_id is not null`.pipe(decodeFirstRow(TermsRow)),
    saveWithTerms: (subscription, terms) => save(subscription, Option.some(terms))
  }
})
