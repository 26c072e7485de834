import type { User } from "@berth/domain/shared/User"
import { maximumSessionsPerUser, Session, SessionId } from "@berth/domain/sessions/Session"
import { SessionRepository } from "@berth/domain/sessions/SessionRepository"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Option, Schema } from "effect"
import { makeKeyedRead } from "../KeyedReads.ts"
import {
  affectsRow,
  countAffectedRows,
  decodeFirstRow,
  decodeRows,
  execute,
  listColumns,
  mapFirstRow,
  mapRows,
  readExists
} from "../Rows.ts"
import { toStorableText } from "../StorableText.ts"
import { toUser, UserRow } from "../shared/UserRow.ts"
import * as Repository from "../Repository.ts"

const SessionWithUser = Schema.Struct({
  ...UserRow.fields,
  sessionId: SessionId,
  startedAt: Schema.DateTimeUtcFromDate,
  authenticatedAt: Schema.DateTimeUtcFromDate,
  lastSeenAt: Schema.DateTimeUtcFromDate,
  expiresAt: Schema.DateTimeUtcFromDate,
  userAgent: Schema.NullOr(Schema.String),
  address: Schema.NullOr(Schema.String)
})
const SessionRow = Schema.Struct({
  ...Session.fields,
  createdAt: Schema.DateTimeUtcFromDate,
  authenticatedAt: Schema.DateTimeUtcFromDate,
  lastSeenAt: Schema.DateTimeUtcFromDate,
  expiresAt: Schema.DateTimeUtcFromDate
})

const columns = `${listColumns("users", UserRow)}, sessions.id as session_id, sessions.created_at as started_at, sessions.authenticated_at,
  sessions.last_seen_at, sessions.expires_at, sessions.user_agent, sessions.address`

const withUser = (row: typeof SessionWithUser.Type): { readonly session: Session; readonly user: User } => ({
  session: {
    id: row.sessionId,
    userId: row.id,
    createdAt: row.startedAt,
    authenticatedAt: row.authenticatedAt,
    lastSeenAt: row.lastSeenAt,
    expiresAt: row.expiresAt,
    userAgent: row.userAgent,
    address: row.address
  },
  user: toUser(row)
})
const decodeByTokenHash = mapRows(
  Schema.Struct({ ...SessionWithUser.fields, tokenHash: Schema.String }),
  (row) => [row.tokenHash, withUser(row)] as const
)
const Open = Schema.Struct({ id: SessionId })

export const layer = Repository.layerEffect(
  SessionRepository,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const findByTokenHash = yield* makeKeyedRead(sql, {
      select: (wanted) => sql`
        select ${sql.literal(columns)}, sessions.token_hash
        from ${wanted} join sessions on sessions.token_hash = wanted.key join users on users.id = sessions.user_id
        where users.suspended_at is null`,
      decode: decodeByTokenHash
    })
    return SessionRepository.of({
      // The delete does not see the insert of the same statement, hence the `- 1`.
      insert: (session, tokenHash) =>
        Effect.map(
          readExists(sql`
            with suspended as (
              select from users where id = ${session.userId} and suspended_at is not null
            ), added as (
              insert into sessions
                (id, user_id, token_hash, created_at, authenticated_at, last_seen_at, expires_at, user_agent, address)
              select ${session.id}, ${session.userId}, ${tokenHash}, ${DateTime.toDate(session.createdAt)},
                ${DateTime.toDate(session.authenticatedAt)}, ${DateTime.toDate(session.lastSeenAt)},
                ${DateTime.toDate(session.expiresAt)},
                ${session.userAgent === null ? null : toStorableText(session.userAgent)}, ${session.address}
              where not exists (select from suspended)
            ), removed as (
              delete from sessions where not exists (select from suspended) and id in (
                select id from sessions where user_id = ${session.userId}
                order by created_at desc, id desc offset ${maximumSessionsPerUser - 1}
              )
            )
            select exists (select from suspended)`),
          (isSuspended) => !isSuspended
        ),
      findByTokenHash: (tokenHash, now) =>
        Effect.map(
          findByTokenHash(tokenHash),
          Option.filter(({ session }) => DateTime.greaterThan(session.expiresAt, now))
        ),
      find: (id, now) =>
        sql`
          select ${sql.literal(columns)}
          from sessions join users on users.id = sessions.user_id
          where sessions.id = ${toStorableText(id)} and sessions.expires_at > ${DateTime.toDate(now)}
            and users.suspended_at is null`.pipe(mapFirstRow(SessionWithUser, withUser)),
      findActiveIds: (ids, now) =>
        Effect.gen(function* () {
          if (ids.length === 0) return new Set<SessionId>()
          const rows = yield* sql`
            select id from sessions where ${sql.in("id", ids)} and expires_at > ${DateTime.toDate(now)}`.pipe(
            decodeRows(Open)
          )
          return new Set(rows.map(({ id }) => id))
        }),
      listByUser: (userId, now) =>
        sql`
          select id, user_id, created_at, authenticated_at, last_seen_at, expires_at, user_agent, address from sessions
          where user_id = ${userId} and expires_at > ${DateTime.toDate(now)}
          order by created_at desc, id desc`.pipe(decodeRows(SessionRow)),
      renew: (id, { expiresAt, lastSeenAt }) =>
        execute(sql`
          update sessions
          set expires_at = ${DateTime.toDate(expiresAt)}, last_seen_at = ${DateTime.toDate(lastSeenAt)}
          where id = ${id}`),
      setAuthenticatedAt: (id, at) =>
        execute(sql`update sessions set authenticated_at = ${DateTime.toDate(at)} where id = ${id}`),
      extend: (id, expiresAt) =>
        affectsRow(sql`update sessions set expires_at = ${DateTime.toDate(expiresAt)} where id = ${id}`),
      lock: (id, now) =>
        sql`
          select id from sessions where id = ${toStorableText(id)} and expires_at > ${DateTime.toDate(now)} for share`.pipe(
          decodeFirstRow(Open),
          Effect.map((row) => Option.isSome(row))
        ),
      remove: (id) => execute(sql`delete from sessions where id = ${toStorableText(id)}`),
      removeOwned: (userId, id) =>
        affectsRow(sql`delete from sessions where id = ${toStorableText(id)} and user_id = ${userId}`),
      removeByTokenHash: (tokenHash) => execute(sql`delete from sessions where token_hash = ${tokenHash}`),
      removeByUser: (userId, except) =>
        countAffectedRows(sql`
          delete from sessions
          where user_id = ${userId} and id is distinct from ${except ?? null}`),
      removeExpired: (now) => countAffectedRows(sql`delete from sessions where expires_at <= ${DateTime.toDate(now)}`)
    })
  })
)
