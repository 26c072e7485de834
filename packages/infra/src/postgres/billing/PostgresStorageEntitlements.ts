import { StorageEntitlements, StorageTier } from "@berth/domain/billing/storage/StorageEntitlements"
import { DateTime, Effect, Option, Schema } from "effect"
import { decodeFirstRow, execute } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import * as Repository from "../Repository.ts"

const Entitled = Schema.Struct({ tier: StorageTier })

export const layer = Repository.layer(StorageEntitlements, (sql) => ({
  find: (userId) =>
    sql`select tier from storage_entitlements where user_id = ${toStorableText(userId)}`.pipe(
      decodeFirstRow(Entitled),
      Effect.map((row) => Option.match(row, { onNone: () => "included" as const, onSome: ({ tier }) => tier }))
    ),
  set: (userId, tier) =>
    Effect.gen(function* () {
      const updatedAt = DateTime.toDate(yield* DateTime.now)
      yield* execute(sql`
        insert into storage_entitlements (user_id, tier, updated_at)
        select id, ${tier}, ${updatedAt}::timestamptz from users where id = ${toStorableText(userId)} for key share
        on conflict (user_id) do update set tier = excluded.tier, updated_at = excluded.updated_at`)
    })
}))
