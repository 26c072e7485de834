import { StoredCredentialKey } from "@berth/domain/secrets/Credential"
import { CredentialRepository } from "@berth/domain/secrets/CredentialRepository"
import { SecretBox } from "@berth/domain/secrets/SecretBox"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, type Redacted, Schema } from "effect"
import { countAffectedRows, decodeRows, execute, mapRows } from "../Rows.ts"
import type { UserId } from "@berth/domain/shared/UserId"
import * as Repository from "../Repository.ts"

const KeyRow = Schema.Struct({ key: StoredCredentialKey })
const SealedRow = Schema.Struct({ key: StoredCredentialKey, sealed: Schema.String })

/** Unique per row: ids and keys contain no colons. */
const contextOf = (userId: UserId, key: StoredCredentialKey) => `credentials.sealed:${userId}:${key}`

export const layer = Repository.layerEffect(
  CredentialRepository,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const box = yield* SecretBox

    return CredentialRepository.of({
      set: (userId, key, value) =>
        Effect.gen(function* () {
          const now = yield* DateTime.now
          yield* execute(sql`
            insert into credentials ${sql.insert({
              userId,
              key,
              sealed: yield* box.seal(value, contextOf(userId, key)),
              updatedAt: DateTime.toDate(now)
            })}
            on conflict (user_id, key) do update set sealed = excluded.sealed, updated_at = excluded.updated_at`)
        }),
      listKeys: (userId) =>
        sql`select key from credentials where user_id = ${userId} order by key`.pipe(mapRows(KeyRow, ({ key }) => key)),
      remove: (userId, keys) =>
        countAffectedRows(sql`delete from credentials where user_id = ${userId} and ${sql.in("key", keys)}`),
      removeSince: (userId, since) =>
        execute(sql`
          delete from credentials where user_id = ${userId} and updated_at >= ${DateTime.toDate(since)}`),
      decrypt: (userId, keys) =>
        Effect.gen(function* () {
          const rows = yield* sql`
            select key, sealed from credentials where user_id = ${userId} and ${sql.in("key", keys)}`.pipe(
            decodeRows(SealedRow)
          )
          const opened: { [Key in StoredCredentialKey]?: Redacted.Redacted } = {}
          for (const { key, sealed } of rows)
            opened[key] = yield* Effect.orDie(box.open(sealed, contextOf(userId, key)))
          return opened
        })
    })
  })
)
