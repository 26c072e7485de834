import { WalletNonceRepository } from "@berth/domain/signin/wallets/WalletNonceRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Schema } from "effect"
import { countAffectedRows, decodeRows } from "../Rows.ts"

const HashRow = Schema.Struct({ hash: Schema.String })

export const layer: Layer.Layer<WalletNonceRepository, never, SqlClient> = Layer.effect(
  WalletNonceRepository,
  Effect.map(SqlClient, (sql) =>
    WalletNonceRepository.of({
      consume: Effect.fn("WalletNonceRepository.consume")(function* (
        hashes: ReadonlyArray<string>,
        expiresAt: DateTime.Utc
      ) {
        // Lock order: sorted hashes.
        const rows = [...new Set(hashes)]
          .toSorted((a, b) => (a < b ? -1 : 1))
          .map((hash) => ({ hash, expiresAt: DateTime.toDate(expiresAt) }))
        if (rows.length === 0) return true
        // `on conflict` waits for a concurrent insert of the same hash and then returns fewer rows.
        const inserted = yield* sql`
          insert into used_wallet_nonces ${sql.insert(rows)} on conflict (hash) do nothing returning hash`.pipe(
          decodeRows(HashRow)
        )
        return inserted.length === rows.length
      }),
      removeExpired: Effect.fn("WalletNonceRepository.removeExpired")((now: DateTime.Utc) =>
        countAffectedRows(sql`delete from used_wallet_nonces where expires_at <= ${DateTime.toDate(now)}`)
      )
    })
  )
)
