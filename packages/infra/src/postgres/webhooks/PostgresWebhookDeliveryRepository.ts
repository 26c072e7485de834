import { isForAdministrators, StoredEvent } from "@berth/domain/events/DomainEvent"
import { TraceParent } from "@berth/domain/jobs/JobKind"
import {
  type ClaimedDelivery,
  claimDuration,
  maximumInFlightPerEndpoint,
  maximumAttemptsPerOwner,
  WebhookDelivery
} from "@berth/domain/webhooks/WebhookDelivery"
import { WebhookDeliveryRepository } from "@berth/domain/webhooks/WebhookDeliveryRepository"
import { WebhookDeliveryId } from "@berth/domain/webhooks/WebhookEndpoint"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Duration, Effect, Schema, Scope } from "effect"
import { deliveriesChannel } from "../events/PostgresDomainEvents.ts"
import { affectsRow, countAffectedRows, decodeRows, execute, mapRows, readCount } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import { makeWakeups } from "../Wakeups.ts"
import { EndpointRow } from "./PostgresWebhookEndpointRepository.ts"
import * as Repository from "../Repository.ts"

const pollInterval = Duration.seconds(1)

const ClaimedRow = Schema.Struct({
  deliveryId: WebhookDeliveryId,
  attempt: Schema.Int,
  event: StoredEvent,
  occurredAt: Schema.DateTimeUtcFromDate,
  trace: Schema.NullOr(TraceParent),
  ...EndpointRow.fields
})
const DeliveryRow = Schema.Struct({
  ...WebhookDelivery.fields,
  dueAt: Schema.DateTimeUtcFromDate,
  attemptedAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  createdAt: Schema.DateTimeUtcFromDate
})

export const layer = Repository.layerEffect(
  WebhookDeliveryRepository,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const scope = yield* Effect.scope
    const wakeups = yield* makeWakeups(deliveriesChannel)
    const added = yield* Effect.cached(Effect.provideService(wakeups.subscribe("", pollInterval), Scope.Scope, scope))
    const notify = sql`select pg_notify(${deliveriesChannel}, '')`

    const isDue = (now: Date) =>
      sql`status = 'pending' and due_at <= ${now} and (claimed_until is null or claimed_until <= ${now})`

    /** Condition of an attempt's writes: it holds the claim until another attempt begins. */
    const isHeld = ({ attempt, id }: ClaimedDelivery) =>
      sql`id = ${id} and attempts = ${attempt} and status = 'pending'`

    /**
     * Reads each endpoint by its index only up to its free slots, so that a long backlog costs no more than a short
     * one.
     */
    const claim = (limit: number, now: Date) => sql`
      with recursive endpoints as (
        (select endpoint_id from webhook_deliveries where status = 'pending' order by endpoint_id limit 1)
        union all
        select (
          select d.endpoint_id from webhook_deliveries d
          where d.status = 'pending' and d.endpoint_id > endpoints.endpoint_id order by d.endpoint_id limit 1
        ) from endpoints where endpoints.endpoint_id is not null
      ), enabled as (
        select e.id, user_id, is_ordered, failing_since, (
          select count(*) from webhook_deliveries
          where endpoint_id = e.id and status = 'pending' and claimed_until > ${now}
        ) as in_flight
        from endpoints join webhook_endpoints e on e.id = endpoints.endpoint_id and e.disabled_at is null
      ), next as (
        select due.id, e.user_id, due.turn from enabled e
        cross join lateral (
          select id, row_number() over (order by due_at, position) as turn from webhook_deliveries
          where endpoint_id = e.id and ${isDue(now)} and not e.is_ordered
          order by due_at, position
          limit greatest(0, case when e.failing_since is null then ${maximumInFlightPerEndpoint} else 1 end - e.in_flight)
        ) due
        union all
        select head.id, e.user_id, 1 from enabled e
        cross join lateral (
          select id, status, due_at, claimed_until from webhook_deliveries
          where endpoint_id = e.id and status = 'pending' order by position limit 1
        ) head
        where e.is_ordered and ${isDue(now)}
      ), turns as (
        select next.id, row_number() over (partition by next.user_id order by next.turn, next.id)
          + (select sum(in_flight) from enabled where enabled.user_id = next.user_id) as turn
        from next
      ), taken as (
        select id from webhook_deliveries join turns using (id)
        where ${isDue(now)} and turns.turn <= ${maximumAttemptsPerOwner}
        order by turns.turn limit ${limit} for update of webhook_deliveries skip locked
      ), claimed as (
        update webhook_deliveries set attempts = attempts + 1,
          claimed_until = ${now}::timestamptz + make_interval(secs => ${Duration.toSeconds(claimDuration)})
        from taken where webhook_deliveries.id = taken.id
        returning webhook_deliveries.id, attempts, endpoint_id, event_id
      )
      select claimed.id as delivery_id, claimed.attempts as attempt,
        jsonb_build_object('kind', events.kind, 'data', events.data) as event, events.created_at as occurred_at,
        events.trace, e.*
      from claimed join events on events.id = claimed.event_id join webhook_endpoints e on e.id = claimed.endpoint_id
      order by events.position`

    return WebhookDeliveryRepository.of({
      claim: (limit, now) =>
        claim(limit, DateTime.toDate(now)).pipe(
          mapRows(ClaimedRow, ({ attempt, deliveryId, event, occurredAt, trace, ...endpoint }): ClaimedDelivery => ({
            id: deliveryId,
            attempt,
            endpoint,
            event,
            occurredAt,
            trace
          }))
        ),
      recordDelivered: (claimed, { now, status }) =>
        execute(sql`
          with recorded as (
            update webhook_deliveries set status = 'delivered', claimed_until = null, failure = null,
              response_status = ${status}, attempted_at = ${DateTime.toDate(now)}
            where ${isHeld(claimed)}
          )
          update webhook_endpoints set failing_since = null
          where id = ${claimed.endpoint.id} and failing_since is not null`),
      recordFailed: (claimed, { failure, now, retryAt, status }) =>
        Effect.orDie(
          Effect.gen(function* () {
            const at = DateTime.toDate(now)
            const next =
              retryAt === null ? sql`status = 'failed'` : sql`due_at = ${DateTime.toDate(retryAt)}, status = 'pending'`
            yield* sql`
              with recorded as (
                update webhook_deliveries set ${next}, claimed_until = null, failure = ${toStorableText(failure)},
                  response_status = ${status}, attempted_at = ${at}
                where ${isHeld(claimed)} returning 1
              )
              update webhook_endpoints set failing_since = ${at}
              where id = ${claimed.endpoint.id} and failing_since is null and exists (select from recorded)`
          })
        ),
      list: (endpointId, { limit, offset }) =>
        Effect.gen(function* () {
          const deliveries = yield* sql`
            select d.id, d.event_id, events.kind, d.status, d.attempts, d.due_at, d.attempted_at, d.response_status,
              d.failure, d.created_at
            from webhook_deliveries d join events on events.id = d.event_id
            where d.endpoint_id = ${endpointId} order by d.position desc limit ${limit} offset ${offset}`.pipe(
            decodeRows(DeliveryRow)
          )
          const count = yield* readCount(sql`
            select count(*)::int from webhook_deliveries where endpoint_id = ${endpointId}`)
          return { deliveries, total: count }
        }),
      replay: (endpointId, id, now) =>
        Effect.gen(function* () {
          const isReplayed = yield* affectsRow(sql`
            update webhook_deliveries set status = 'pending', attempts = 0, due_at = ${DateTime.toDate(now)},
              claimed_until = null
            where id = ${toStorableText(id)} and endpoint_id = ${endpointId}`)
          if (isReplayed) yield* Effect.orDie(notify)
          return isReplayed
        }),
      replayRange: ({ id, kinds, userId }, { failedOnly, since, until }, now) =>
        Effect.gen(function* () {
          const at = DateTime.toDate(now)
          const accountKinds = kinds.filter(isForAdministrators)
          const ownKinds = kinds.filter((kind) => !isForAdministrators(kind))
          const replayed = yield* countAffectedRows(sql`
            insert into webhook_deliveries as d (id, endpoint_id, event_id, position, status, due_at, created_at)
            select 'dlv_' || md5(id || ${id}), ${id}, id, position, 'pending', ${at}, ${at} from events
            where created_at >= ${DateTime.toDate(since)} and created_at < ${DateTime.toDate(until)}
              and (kind = any(${accountKinds}) or (kind = any(${ownKinds}) and user_id = ${userId}))
            on conflict (id) do update set status = 'pending', attempts = 0, due_at = excluded.due_at, claimed_until = null
              where ${failedOnly ? sql`d.status = 'failed'` : sql`d.status <> 'pending'`}`)
          if (replayed > 0) yield* Effect.orDie(notify)
          return replayed
        }),
      awaitDue: Effect.flatten(added),
      prune: (before) => countAffectedRows(sql`delete from events where created_at < ${DateTime.toDate(before)}`)
    })
  })
)
