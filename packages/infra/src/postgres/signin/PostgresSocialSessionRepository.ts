import { SessionId } from "@berth/domain/sessions/Session"
import { SocialSessionRepository } from "@berth/domain/signin/social/SocialSessionRepository"
import { DateTime, Effect, Option, Schema } from "effect"
import { affectsRow, decodeFirstRow, execute, mapFirstRow } from "../Rows.ts"
import * as Repository from "../Repository.ts"

const TokenRow = Schema.Struct({ sessionId: SessionId })

export const layer = Repository.layer(SocialSessionRepository, (sql) => ({
  insert: (token) =>
    Effect.gen(function* () {
      const { sessionId } = token
      // Expired tokens of the family are removed at each addition.
      yield* execute(sql`
        with expired as (
          delete from social_tokens
          where session_id = ${sessionId} and exchanged_at is not null and expires_at <= now()
        )
        insert into social_tokens ${sql.insert({
          hash: token.tokenHash,
          sessionId,
          expiresAt: DateTime.toDate(token.expiresAt)
        })}`)
    }),
  find: (tokenHash, now) =>
    sql`
      select session_id from social_tokens
      where hash = ${tokenHash} and exchanged_at is null and expires_at > ${DateTime.toDate(now)}`.pipe(
      mapFirstRow(TokenRow, ({ sessionId }) => sessionId)
    ),
  exchange: (tokenHash, now) =>
    Effect.gen(function* () {
      const at = DateTime.toDate(now)
      // Lock order: the session before its tokens, as in its deletion.
      const row = yield* sql`
        select session_id from social_tokens join sessions on sessions.id = session_id
        where hash = ${tokenHash} and social_tokens.expires_at > ${at} for update of sessions`.pipe(
        decodeFirstRow(TokenRow)
      )
      const isFirst = yield* affectsRow(sql`
        update social_tokens set exchanged_at = ${at}
        where hash = ${tokenHash} and exchanged_at is null and expires_at > ${at}`)
      return Option.map(row, ({ sessionId }) => ({ sessionId, isFirst }))
    })
}))
