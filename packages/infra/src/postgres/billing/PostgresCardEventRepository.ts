import type { CardRecords, RecordedSubscription } from "@berth/domain/billing/events/CardFactApplication"
import { CardEventEnvelope, isCardEvent } from "@berth/domain/billing/events/CardEvent"
import { CardEventRepository, CardEventStatus } from "@berth/domain/billing/events/CardEventRepository"
import type { CardFact } from "@berth/domain/billing/events/CardFact"
import { EventMoment, SubscriptionFacts } from "@berth/domain/billing/events/SubscriptionFacts"
import { Array, Duration, Effect, Option, Schema } from "effect"
import { affectsRow, decodeFirstRow, decodeRows, execute } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import { UserId } from "@berth/domain/shared/UserId"
import * as Repository from "../Repository.ts"

const EventRow = Schema.Struct({ payload: Schema.NullOr(CardEventEnvelope), status: CardEventStatus })
const IdRow = Schema.Struct({ id: Schema.String })
const PayerRow = Schema.Struct({ userId: UserId, moment: EventMoment })
const SubscriptionRow = Schema.Struct({
  id: Schema.String,
  payer: Schema.String,
  userId: UserId,
  facts: SubscriptionFacts
})
const BookedRow = Schema.Struct({ bookedAs: Schema.String })
const PrunedRow = Schema.Struct({ id: Schema.String, hadEffects: Schema.Boolean })

/** Names to lock. Facts without a common name are independent. */
const lockNamesOf = ({ credits, invoice, payer, subscription }: CardFact): ReadonlyArray<string> =>
  Array.dedupe([
    payer,
    ...Option.match(subscription, { onNone: () => [], onSome: ({ id }) => [id] }),
    ...Option.match(credits, { onNone: () => [], onSome: ({ names }) => names }),
    ...Option.match(invoice, { onNone: () => [], onSome: ({ id, payments }) => [id, ...payments] })
  ]).toSorted()

export const layer = Repository.layer(CardEventRepository, (sql) => {
  const seconds = (duration: Duration.Duration) => sql`make_interval(secs => ${Duration.toSeconds(duration)})`
  const idsOf = (rows: ReadonlyArray<typeof IdRow.Type>) => rows.map(({ id }) => id)
  const subscriptionColumns = sql.literal("id, payer_id as payer, user_id, facts")

  /** Lock order: names sorted. */
  const lock = (names: ReadonlyArray<string>) =>
    Effect.forEach(names, (name) => sql`select pg_advisory_xact_lock(hashtextextended(${`card ${name}`}, 0))`, {
      discard: true
    })

  const writeSubscription = ({ facts, id, payer, userId }: RecordedSubscription) =>
    sql`
      insert into card_subscriptions (id, payer_id, user_id, facts)
      values (${toStorableText(id)}, ${toStorableText(payer)}, ${userId}, ${toStorableJson(facts)}::jsonb)
      on conflict (id) do update
      set payer_id = excluded.payer_id, user_id = excluded.user_id, facts = excluded.facts`

  return {
    insert: (event) =>
      affectsRow(sql`
        insert into card_events (id, type, created_at, payload, status)
        values (${toStorableText(event.id)}, ${event.type}, to_timestamp(${event.created}), ${toStorableJson(event)}::jsonb, 'received')
        on conflict (id) do nothing`),
    findForUpdate: (id) =>
      sql`
        select payload, status from card_events where id = ${toStorableText(id)} for no key update`.pipe(
        decodeFirstRow(EventRow),
        Effect.map(
          Option.flatMap(({ payload, status }) =>
            payload !== null && isCardEvent(payload) ? Option.some({ event: payload, status }) : Option.none()
          )
        )
      ),
    readRecordsForUpdate: (fact) =>
      Effect.orDie(
        Effect.gen(function* () {
          yield* lock(lockNamesOf(fact))
          const payer =
            yield* sql`select user_id, moment from card_payers where id = ${toStorableText(fact.payer)}`.pipe(
              decodeFirstRow(PayerRow)
            )
          const subscriptionId = Option.match(fact.subscription, { onNone: () => "", onSome: ({ id }) => id })
          const subscriptions = yield* sql`
            select ${subscriptionColumns} from card_subscriptions
            where payer_id = ${toStorableText(fact.payer)} or id = ${toStorableText(subscriptionId)}`.pipe(
            decodeRows(SubscriptionRow)
          )
          const names = Option.match(fact.credits, {
            onNone: (): ReadonlyArray<string> => [],
            onSome: (credits) => credits.names
          })
          const booked = yield* sql`
            select booked_as from card_purchases where ${sql.in("name", names.map(toStorableText))} order by booked_as limit 1`.pipe(
            decodeFirstRow(BookedRow)
          )
          return {
            payer: Option.map(payer, ({ moment, userId }) => ({ id: fact.payer, user: { value: userId, moment } })),
            subscriptions,
            bookedAs: Option.map(booked, ({ bookedAs }) => bookedAs)
          } satisfies CardRecords
        })
      ),
    saveApplied: ({ names: known, payer, subscriptions }) =>
      Effect.orDie(
        Effect.gen(function* () {
          if (Option.isSome(payer))
            yield* sql`
              insert into card_payers (id, user_id, moment)
              values (${toStorableText(payer.value.id)}, ${payer.value.user.value}, ${toStorableJson(payer.value.user.moment)}::jsonb)
              on conflict (id) do update set user_id = excluded.user_id, moment = excluded.moment`
          yield* Effect.forEach(subscriptions, writeSubscription, { discard: true })
          if (Option.isSome(known)) {
            const { cause, names, userId } = known.value
            yield* sql`
              insert into card_purchases ${sql.insert(
                names.map((name) => ({ name: toStorableText(name), bookedAs: toStorableText(cause), userId }))
              )}
              on conflict (name) do nothing`
          }
        })
      ),
    listSubscriptions: (userId) =>
      sql`select ${subscriptionColumns} from card_subscriptions where user_id = ${userId}`.pipe(
        decodeRows(SubscriptionRow)
      ),
    markApplied: (id, userId, status) =>
      execute(sql`
        update card_events set status = ${status}, user_id = ${userId}, payer_id = null, email = null,
          payload = case when ${userId}::text is not null then payload end
        where id = ${toStorableText(id)}`),
    markUnmatched: (id, { email, payer }) =>
      execute(sql`
        update card_events
        set status = 'unmatched', payer_id = ${toStorableText(payer)}, email = ${Option.getOrNull(email)}
        where id = ${toStorableText(id)}`),
    markIgnored: (id) =>
      execute(sql`
        update card_events set status = 'ignored', payload = null, payer_id = null, email = null
        where id = ${toStorableText(id)}`),
    markUnreadable: (id) => execute(sql`update card_events set status = 'unreadable' where id = ${toStorableText(id)}`),
    listUnmatchedByPayer: (payers) =>
      sql`
        select id from card_events where status = 'unmatched' and ${sql.in("payer_id", payers.map(toStorableText))} order by created_at`.pipe(
        decodeRows(IdRow),
        Effect.map(idsOf)
      ),
    listUnmatchedByEmail: (email) =>
      sql`
        select id from card_events where status = 'unmatched' and lower(email) = lower(${email}) order by created_at`.pipe(
        decodeRows(IdRow),
        Effect.map(idsOf)
      ),
    claimOverdue: ({ confirmedOnly, limit, minimumAge }) =>
      sql`
        update card_events set job_requested_at = now() where id in (
          select id from card_events as waiting
          where job_requested_at < now() - ${seconds(minimumAge)} and (
            status = 'received'
            or (status = 'unmatched' and (
              exists (select from card_payers where card_payers.id = waiting.payer_id)
              or exists (select from card_subscriptions where card_subscriptions.id = waiting.payer_id)
              or exists (
                select from users where lower(users.email) = lower(waiting.email)
                  and (not ${confirmedOnly}::boolean or email_verified_at is not null)
              )
            ))
          )
          order by job_requested_at limit ${limit} for update skip locked
        )
        returning id`.pipe(decodeRows(IdRow), Effect.map(idsOf)),
    claimUnclear: ({ limit, minimumAge }) =>
      sql`
        update card_events set job_requested_at = now() where id in (
          select id from card_events where status = 'unclear' and job_requested_at < now() - ${seconds(minimumAge)}
          order by job_requested_at limit ${limit} for update skip locked
        )
        returning id`.pipe(decodeRows(IdRow), Effect.map(idsOf)),
    prune: (lifetime) =>
      sql`
        delete from card_events where received_at < now() - ${seconds(lifetime)}
        returning id, status in ('applied', 'ignored') as had_effects`.pipe(
        decodeRows(PrunedRow),
        Effect.map((rows) => ({
          removed: rows.length,
          unapplied: rows.flatMap(({ hadEffects, id }) => (hadEffects ? [] : [id]))
        }))
      )
  }
})
