import { Email } from "@berth/domain/shared/Email"
import type { MailedToken, MailedTokenPurpose } from "@berth/domain/accounts/mailed-tokens/MailedToken"
import { MailedTokenRepository } from "@berth/domain/accounts/mailed-tokens/MailedTokenRepository"
import { DateTime, Effect, Option, Schema } from "effect"
import { countAffectedRows, decodeFirstRow, execute } from "../Rows.ts"
import { UserId } from "@berth/domain/shared/UserId"
import * as Repository from "../Repository.ts"
import { currentDate } from "../DatabaseClock.ts"

const FoundRow = Schema.Struct({ userId: UserId, email: Email })
const LiveRow = Schema.Struct({ ...FoundRow.fields, expiresAt: Schema.DateTimeUtcFromDate })

export const layer = Repository.layer(MailedTokenRepository, (sql) => {
  const upsert = (token: MailedToken, expiresAt: DateTime.Utc, ending = sql``) => sql`
    insert into mailed_tokens as known ${sql.insert({ ...token, expiresAt: DateTime.toDate(expiresAt), spentAt: null })}
    on conflict (user_id, purpose) do update set
      request_id = excluded.request_id, token_hash = excluded.token_hash, email = excluded.email,
      expires_at = excluded.expires_at, spent_at = null ${ending}`
  const isLive = (purpose: MailedTokenPurpose, now: DateTime.Utc) =>
    sql`purpose = ${purpose} and spent_at is null and expires_at > ${DateTime.toDate(now)}`

  return {
    replace: (token, expiresAt) => execute(upsert(token, expiresAt)),
    replaceIfNewer: (token, expiresAt) =>
      Effect.gen(function* () {
        const onlyLater = sql`where known.request_id < excluded.request_id returning known.user_id, known.email`
        const written = yield* upsert(token, expiresAt, onlyLater).pipe(decodeFirstRow(FoundRow))
        return Option.isSome(written)
      }),
    find: (purpose, tokenHash, now) =>
      sql`
        select user_id, email, expires_at from mailed_tokens where token_hash = ${tokenHash} and ${isLive(purpose, now)}`.pipe(
        decodeFirstRow(LiveRow)
      ),
    findByUser: (purpose, userId, now) =>
      sql`
        select user_id, email from mailed_tokens
        where user_id = ${userId} and ${isLive(purpose, now)}`.pipe(decodeFirstRow(FoundRow)),
    findByEmail: (purpose, email, now) =>
      sql`
        select user_id, email from mailed_tokens
        where lower(email) = lower(${email}) and ${isLive(purpose, now)}
        order by request_id limit 1`.pipe(decodeFirstRow(FoundRow)),
    // A concurrent update re-evaluates the condition after the lock wait, so only the first one matches.
    consume: (purpose, tokenHash, now) =>
      sql`
        update mailed_tokens set spent_at = ${DateTime.toDate(now)} where token_hash = ${tokenHash} and ${isLive(purpose, now)}
        returning user_id, email`.pipe(decodeFirstRow(FoundRow)),
    revoke: (userId, purpose) =>
      Effect.flatMap(currentDate, (now) =>
        execute(sql`
          update mailed_tokens set spent_at = ${now}
          where user_id = ${userId} and purpose = ${purpose} and spent_at is null`)
      ),
    removeExpired: (now) =>
      countAffectedRows(sql`delete from mailed_tokens where expires_at <= ${DateTime.toDate(now)}`)
  }
})
