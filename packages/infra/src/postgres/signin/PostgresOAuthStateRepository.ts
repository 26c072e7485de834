import { OAuthStateRepository } from "@berth/domain/signin/oauth/OAuthStateRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer } from "effect"
import { countAffectedRows } from "../Rows.ts"

export const layer: Layer.Layer<OAuthStateRepository, never, SqlClient> = Layer.effect(
  OAuthStateRepository,
  Effect.map(SqlClient, (sql) =>
    OAuthStateRepository.of({
      consume: Effect.fn("OAuthStateRepository.consume")(function* (hash: string, expiresAt: DateTime.Utc) {
        const inserted = yield* countAffectedRows(sql`
          insert into used_oauth_states (hash, expires_at) values (${hash}, ${DateTime.toDate(expiresAt)})
          on conflict (hash) do nothing`).pipe(Effect.orDie)
        return inserted === 1
      }),
      removeExpired: Effect.fn("OAuthStateRepository.removeExpired")(function* (now: DateTime.Utc) {
        return yield* countAffectedRows(
          sql`delete from used_oauth_states where expires_at <= ${DateTime.toDate(now)}`
        ).pipe(Effect.orDie)
      })
    })
  )
)
