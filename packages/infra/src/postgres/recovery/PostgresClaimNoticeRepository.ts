import { ClaimNoticeRepository } from "@berth/domain/recovery/claims/ClaimNoticeRepository"
import type { UserId } from "@berth/domain/shared/UserId"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { affectsRow, decodeFirstRow, execute } from "../Rows.ts"

const NoticeRow = Schema.Struct({ claimedAt: Schema.DateTimeUtcFromDate })

export const layer: Layer.Layer<ClaimNoticeRepository, never, SqlClient> = Layer.effect(
  ClaimNoticeRepository,
  Effect.map(SqlClient, (sql) =>
    ClaimNoticeRepository.of({
      record: Effect.fn("ClaimNoticeRepository.record")((userId: UserId, claimedAt: DateTime.Utc) =>
        execute(sql`
          insert into claim_notices ${sql.insert({ userId, claimedAt: DateTime.toDate(claimedAt) })}
          on conflict (user_id) do update set claimed_at = excluded.claimed_at`)
      ),
      find: Effect.fn("ClaimNoticeRepository.find")(function* (userId: UserId) {
        const row = yield* sql`select claimed_at from claim_notices where user_id = ${userId}`.pipe(
          decodeFirstRow(NoticeRow)
        )
        return Option.map(row, ({ claimedAt }) => claimedAt)
      }),
      remove: Effect.fn("ClaimNoticeRepository.remove")((userId: UserId) =>
        affectsRow(sql`delete from claim_notices where user_id = ${userId}`)
      )
    })
  )
)
