import { ListedAuditEntry } from "@berth/domain/administration/audit/AuditEntry"
import { AuditLog } from "@berth/domain/administration/audit/AuditLog"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Option, Schema } from "effect"
import { decodeRows, execute, readCount } from "../Rows.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

const AuditRow = Schema.Struct({ ...ListedAuditEntry.fields, createdAt: Schema.DateTimeUtcFromDate })

export const layer = Repository.layerEffect(
  AuditLog,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const ids = yield* IdGenerator
    return AuditLog.of({
      append: ({ action, actor, after, before, reason, requestId, userId }) =>
        Effect.gen(function* () {
          const [id, createdAt] = [yield* ids.next("aud"), DateTime.toDate(yield* DateTime.now)]
          yield* execute(sql`
            insert into audit_entries (id, actor, action, target, reason, before, after, request_id, created_at)
            values (${id}, ${toStorableText(actor)}, ${action}, ${userId}, ${reason === null ? null : toStorableText(reason)},
              ${before === null ? null : toStorableJson(before)}::jsonb, ${after === null ? null : toStorableJson(after)}::jsonb,
              ${requestId}, ${createdAt})`)
        }),
      list: ({ actor, limit, offset, userId }) =>
        Effect.gen(function* () {
          const condition = sql.and([
            sql`true`,
            ...Option.toArray(Option.map(userId, (id) => sql`target = ${toStorableText(id)}`)),
            ...Option.toArray(Option.map(actor, (name) => sql`actor = ${toStorableText(name)}`))
          ])
          // Ids are ordered by creation time.
          const entries = yield* sql`
            select *, target as user_id, (select email from users where users.id = actor) as actor_email,
              (select email from users where users.id = target) as user_email
            from audit_entries where ${condition} order by id desc limit ${limit} offset ${offset}`.pipe(
            decodeRows(AuditRow)
          )
          const total = yield* readCount(sql`select count(*)::int from audit_entries where ${condition}`)
          return { entries, total }
        })
    })
  })
)
