import { StorageEntitlements, StorageTier } from "@berth/domain/billing/storage/StorageEntitlements"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { decodeFirstRow, execute } from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import type { UserId } from "@berth/domain/shared/UserId"

const Entitled = Schema.Struct({ tier: StorageTier })

export const layer: Layer.Layer<StorageEntitlements, never, SqlClient> = Layer.effect(
  StorageEntitlements,
  Effect.map(SqlClient, (sql) =>
    StorageEntitlements.of({
      find: Effect.fn("StorageEntitlements.find")(function* (userId: UserId) {
        const row = yield* sql`select tier from storage_entitlements where user_id = ${toStorableText(userId)}`.pipe(
          decodeFirstRow(Entitled)
        )
        return Option.match(row, { onNone: () => "included" as const, onSome: ({ tier }) => tier })
      }),
      set: Effect.fn("StorageEntitlements.set")(function* (userId: UserId, tier: StorageTier) {
        const updatedAt = DateTime.toDate(yield* DateTime.now)
        yield* execute(sql`
          insert into storage_entitlements (user_id, tier, updated_at)
          select id, ${tier}, ${updatedAt}::timestamptz from users where id = ${toStorableText(userId)} for key share
          on conflict (user_id) do update set tier = excluded.tier, updated_at = excluded.updated_at`)
      })
    })
  )
)
