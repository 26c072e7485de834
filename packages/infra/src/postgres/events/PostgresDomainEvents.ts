import { DomainEvent, isForAdministrators } from "@berth/domain/events/DomainEvent"
import { DomainEvents } from "@berth/domain/events/DomainEvents"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Schema } from "effect"
import { toStorableJson } from "../StorableText.ts"
import { currentTrace } from "../CurrentTrace.ts"
import { execute } from "../Rows.ts"
import * as Repository from "../Repository.ts"

/** Channel notified when deliveries are due. */
export const deliveriesChannel = "berth_webhooks"

const encode = Schema.encode(DomainEvent)

export const layer = Repository.layerEffect(
  DomainEvents,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const ids = yield* IdGenerator

    return DomainEvents.of({
      append: (event, user, onceKey) =>
        Effect.gen(function* () {
          const { data, kind } = yield* Effect.orDie(encode(event))
          const createdAt = DateTime.toDate(yield* DateTime.now)
          const trace = yield* currentTrace
          const row = {
            id: yield* ids.next("evt"),
            kind,
            userId: user,
            data: toStorableJson(data),
            onceKey: onceKey ?? null,
            trace: trace === null ? null : JSON.stringify(trace),
            createdAt
          }
          const receiver = isForAdministrators(kind) ? sql`true` : sql`user_id = ${user}`
          // Locks endpoints, so that a concurrent deletion does not fail the change.
          yield* execute(sql`
            with appended as (
              insert into events ${sql.insert(row)} on conflict (once_key) do nothing returning id, position
            ), endpoints as (
              select id from webhook_endpoints
              where disabled_at is null and kinds @> array[${kind}]::text[] and ${receiver} for key share
            ), delivered as (
              insert into webhook_deliveries (id, endpoint_id, event_id, position, status, due_at, created_at)
              select 'dlv_' || md5(appended.id || endpoints.id), endpoints.id, appended.id, appended.position, 'pending',
                ${createdAt}, ${createdAt}
              from appended cross join endpoints returning 1
            )
            select pg_notify(${deliveriesChannel}, '') from delivered limit 1`)
        })
    })
  })
)
