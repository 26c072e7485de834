import { OAuthStateRepository } from "@berth/domain/signin/oauth/OAuthStateRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer } from "effect"
import { affectsRow, countAffectedRows } from "../Rows.ts"

export const layer: Layer.Layer<OAuthStateRepository, never, SqlClient> = Layer.effect(
  OAuthStateRepository,
  Effect.map(SqlClient, (sql) =>
    OAuthStateRepository.of({
      consume: Effect.fn("OAuthStateRepository.consume")((hash: string, expiresAt: DateTime.Utc) =>
        affectsRow(sql`
          insert into used_oauth_states (hash, expires_at) values (${hash}, ${DateTime.toDate(expiresAt)})
          on conflict (hash) do nothing`)
      ),
      removeExpired: Effect.fn("OAuthStateRepository.removeExpired")((now: DateTime.Utc) =>
        countAffectedRows(sql`delete from used_oauth_states where expires_at <= ${DateTime.toDate(now)}`)
      )
    })
  )
)
