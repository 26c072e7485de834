import { WalletNonceRepository } from "@berth/domain/signin/wallets/WalletNonceRepository"
import { DateTime, Effect, Schema } from "effect"
import { countAffectedRows, decodeRows } from "../Rows.ts"
import * as Repository from "../Repository.ts"

const HashRow = Schema.Struct({ hash: Schema.String })

export const layer = Repository.layer(WalletNonceRepository, (sql) => ({
  consume: (hashes, expiresAt) =>
    Effect.gen(function* () {
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
  removeExpired: (now) =>
    countAffectedRows(sql`delete from used_wallet_nonces where expires_at <= ${DateTime.toDate(now)}`)
}))
