import { ClaimNoticeRepository } from "@berth/domain/recovery/claims/ClaimNotices"
import { DateTime, Schema } from "effect"
import { affectsRow, execute, mapFirstRow } from "../Rows.ts"
import * as Repository from "../Repository.ts"

const NoticeRow = Schema.Struct({ claimedAt: Schema.DateTimeUtcFromDate })

export const layer = Repository.layer(ClaimNoticeRepository, (sql) => ({
  record: (userId, claimedAt) =>
    execute(sql`
      insert into claim_notices ${sql.insert({ userId, claimedAt: DateTime.toDate(claimedAt) })}
      on conflict (user_id) do update set claimed_at = excluded.claimed_at`),
  find: (userId) =>
    sql`select claimed_at from claim_notices where user_id = ${userId}`.pipe(
      mapFirstRow(NoticeRow, ({ claimedAt }) => claimedAt)
    ),
  remove: (userId) => affectsRow(sql`delete from claim_notices where user_id = ${userId}`)
}))
