import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { WebhookEndpoint, type WebhookEndpointId } from "@berth/domain/webhooks/WebhookEndpoint"
import { WebhookEndpointRepository } from "@berth/domain/webhooks/WebhookEndpointRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Schema } from "effect"
import { affectsRow, decodeFirstRow, decodeRows, execute, listColumns } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

export const EndpointRow = Schema.Struct({
  ...WebhookEndpoint.fields,
  failingSince: Schema.NullOr(Schema.DateTimeUtcFromDate),
  disabledAt: Schema.NullOr(Schema.DateTimeUtcFromDate),
  createdAt: Schema.DateTimeUtcFromDate
})
const columns = listColumns("webhook_endpoints", EndpointRow)

const SecretsRow = Schema.Struct({
  secretSealed: Schema.String,
  previousSecretSealed: Schema.NullOr(Schema.String),
  previousSecretUntil: Schema.NullOr(Schema.DateTimeUtcFromDate)
})

const currentContext = (id: WebhookEndpointId) => `webhook_endpoints.secret_sealed:${id}`
const previousContext = (id: WebhookEndpointId) => `webhook_endpoints.previous_secret_sealed:${id}`

export const layer = Repository.layerEffect(
  WebhookEndpointRepository,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const box = yield* SecretBox

    const findSecrets = (id: WebhookEndpointId, lock = sql``) =>
      sql`
        select secret_sealed, previous_secret_sealed, previous_secret_until from webhook_endpoints
        where id = ${toStorableText(id)} ${lock}`.pipe(decodeFirstRow(SecretsRow), Effect.flatten)

    return WebhookEndpointRepository.of({
      insert: (endpoint, secret, limit) =>
        Effect.gen(function* () {
          const row = {
            id: endpoint.id,
            userId: endpoint.userId,
            url: toStorableText(endpoint.url),
            kinds: endpoint.kinds,
            isOrdered: endpoint.isOrdered,
            secretSealed: yield* box.seal(secret, currentContext(endpoint.id)),
            createdAt: DateTime.toDate(endpoint.createdAt)
          }
          // Serializes concurrent inserts of a user.
          yield* sql`select from users where id = ${endpoint.userId} for no key update`
          const [count] = yield* sql`
            select from webhook_endpoints where user_id = ${endpoint.userId} offset ${limit - 1} limit 1`
          if (count !== undefined) return false
          yield* sql`insert into webhook_endpoints ${sql.insert(row)}`
          return true
        }).pipe(sql.withTransaction, Effect.orDie),
      listOwned: (userId) =>
        sql`
          select ${sql.literal(columns)} from webhook_endpoints where user_id = ${userId}
          order by created_at desc, id desc`.pipe(decodeRows(EndpointRow)),
      findOwned: (userId, id) =>
        sql`
          select ${sql.literal(columns)} from webhook_endpoints
          where id = ${toStorableText(id)} and user_id = ${userId}`.pipe(decodeFirstRow(EndpointRow)),
      removeOwned: (userId, id) =>
        affectsRow(sql`delete from webhook_endpoints where id = ${toStorableText(id)} and user_id = ${userId}`),
      removeSince: (userId, since) =>
        execute(sql`
          delete from webhook_endpoints
          where user_id = ${userId} and created_at >= ${DateTime.toDate(since)}`),
      readSecrets: (id, now) =>
        Effect.gen(function* () {
          const { previousSecretSealed, previousSecretUntil, secretSealed } = yield* findSecrets(id)
          const current = yield* box.open(secretSealed, currentContext(id))
          const isOver = previousSecretUntil === null || DateTime.lessThanOrEqualTo(previousSecretUntil, now)
          if (isOver || previousSecretSealed === null) return [current]
          return [current, yield* box.open(previousSecretSealed, previousContext(id))]
        }).pipe(
          Effect.catchTag("NoSuchElementException", () => Effect.succeed([])),
          Effect.orDie
        ),
      replaceSecret: (id, secret, overlapUntil) =>
        Effect.gen(function* () {
          const { secretSealed } = yield* findSecrets(id, sql`for no key update`)
          const previous = yield* box.open(secretSealed, currentContext(id))
          yield* sql`
            update webhook_endpoints set secret_sealed = ${yield* box.seal(secret, currentContext(id))},
              previous_secret_sealed = ${yield* box.seal(previous, previousContext(id))},
              previous_secret_until = ${DateTime.toDate(overlapUntil)}
            where id = ${id}`
        }).pipe(
          Effect.catchTag("NoSuchElementException", () => Effect.void),
          Effect.orDie
        ),
      enable: (id) =>
        execute(sql`
          update webhook_endpoints set disabled_at = null, disabled_reason = null, failing_since = null
          where id = ${id}`),
      disable: (id, reason, now) =>
        Effect.gen(function* () {
          const isDisabled = yield* affectsRow(sql`
            update webhook_endpoints set disabled_at = ${DateTime.toDate(now)}, disabled_reason = ${reason}
            where id = ${id} and disabled_at is null`)
          yield* execute(sql`
            update webhook_deliveries set status = 'failed', claimed_until = null, failure = 'endpoint disabled'
            where endpoint_id = ${id} and status = 'pending'`)
          return isDisabled
        })
    })
  })
)
