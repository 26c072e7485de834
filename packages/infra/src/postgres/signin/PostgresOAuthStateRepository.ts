import { OAuthStateRepository } from "@berth/domain/signin/oauth/OAuthStateRepository"
import { DateTime } from "effect"
import { affectsRow, countAffectedRows } from "../Rows.ts"
import * as Repository from "../Repository.ts"

export const layer = Repository.layer(OAuthStateRepository, (sql) => ({
  consume: (hash, expiresAt) =>
    affectsRow(sql`
      insert into used_oauth_states (hash, expires_at) values (${hash}, ${DateTime.toDate(expiresAt)})
      on conflict (hash) do nothing`),
  removeExpired: (now) =>
    countAffectedRows(sql`delete from used_oauth_states where expires_at <= ${DateTime.toDate(now)}`)
}))
