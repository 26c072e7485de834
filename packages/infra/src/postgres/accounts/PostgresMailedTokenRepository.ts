import { Email } from "@berth/domain/shared/Email"
import type { MailedToken, MailedTokenPurpose } from "@berth/domain/accounts/mailed-tokens/MailedToken"
import { MailedTokenRepository } from "@berth/domain/accounts/mailed-tokens/MailedTokenRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { countAffectedRows, decodeFirstRow, execute } from "../Rows.ts"
import { UserId } from "@berth/domain/shared/UserId"

const FoundRow = Schema.Struct({ userId: UserId, email: Email })
const LiveRow = Schema.Struct({ ...FoundRow.fields, expiresAt: Schema.DateTimeUtcFromDate })

export const layer: Layer.Layer<MailedTokenRepository, never, SqlClient> = Layer.effect(
  MailedTokenRepository,
  Effect.map(SqlClient, (sql) => {
    const upsert = (token: MailedToken, expiresAt: DateTime.Utc, ending = sql``) => sql`
      insert into mailed_tokens as known ${sql.insert({ ...token, expiresAt: DateTime.toDate(expiresAt), spentAt: null })}
      on conflict (user_id, purpose) do update set
        request_id = excluded.request_id, token_hash = excluded.token_hash, email = excluded.email,
        expires_at = excluded.expires_at, spent_at = null ${ending}`
    const isLive = (purpose: MailedTokenPurpose, now: DateTime.Utc) =>
      sql`purpose = ${purpose} and spent_at is null and expires_at > ${DateTime.toDate(now)}`

    return MailedTokenRepository.of({
      replace: Effect.fn("MailedTokenRepository.replace")((token: MailedToken, expiresAt: DateTime.Utc) =>
        execute(upsert(token, expiresAt))
      ),
      replaceIfNewer: Effect.fn("MailedTokenRepository.replaceIfNewer")(function* (
        token: MailedToken,
        expiresAt: DateTime.Utc
      ) {
        const onlyLater = sql`where known.request_id < excluded.request_id returning known.user_id, known.email`
        const written = yield* upsert(token, expiresAt, onlyLater).pipe(decodeFirstRow(FoundRow))
        return Option.isSome(written)
      }),
      find: Effect.fn("MailedTokenRepository.find")(
        (purpose: MailedTokenPurpose, tokenHash: string, now: DateTime.Utc) =>
          sql`
          select user_id, email, expires_at from mailed_tokens where token_hash = ${tokenHash} and ${isLive(purpose, now)}`.pipe(
            decodeFirstRow(LiveRow)
          )
      ),
      findByUser: Effect.fn("MailedTokenRepository.findByUser")(
        (purpose: MailedTokenPurpose, userId: UserId, now: DateTime.Utc) =>
          sql`
          select user_id, email from mailed_tokens
          where user_id = ${userId} and ${isLive(purpose, now)}`.pipe(decodeFirstRow(FoundRow))
      ),
      findByEmail: Effect.fn("MailedTokenRepository.findByEmail")(
        (purpose: MailedTokenPurpose, email: Email, now: DateTime.Utc) =>
          sql`
          select user_id, email from mailed_tokens
          where lower(email) = lower(${email}) and ${isLive(purpose, now)}
          order by request_id limit 1`.pipe(decodeFirstRow(FoundRow))
      ),
      consume: Effect.fn("MailedTokenRepository.consume")(function* (
        purpose: MailedTokenPurpose,
        tokenHash: string,
        now: DateTime.Utc
      ) {
        // A concurrent update re-evaluates the condition after the lock wait, so only the first one matches.
        return yield* sql`
          update mailed_tokens set spent_at = ${DateTime.toDate(now)} where token_hash = ${tokenHash} and ${isLive(purpose, now)}
          returning user_id, email`.pipe(decodeFirstRow(FoundRow))
      }),
      revoke: Effect.fn("MailedTokenRepository.revoke")(function* (userId: UserId, purpose: MailedTokenPurpose) {
        const now = DateTime.toDate(yield* DateTime.now)
        yield* execute(sql`
          update mailed_tokens set spent_at = ${now}
          where user_id = ${userId} and purpose = ${purpose} and spent_at is null`)
      }),
      removeExpired: Effect.fn("MailedTokenRepository.removeExpired")((now: DateTime.Utc) =>
        countAffectedRows(sql`delete from mailed_tokens where expires_at <= ${DateTime.toDate(now)}`)
      )
    })
  })
)
