import { EmailAlreadyTaken } from "@berth/domain/accounts/AccountErrors"
import { defaultNotificationPreferences } from "@berth/domain/shared/User"
import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { DateTime, Effect, flow, Option, Schema } from "effect"
import { affectsRow, decodeFirstRow, decodeRows, execute, mapFirstRow, readCount } from "../Rows.ts"
import { violatesConstraint } from "../SqlErrors.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import { makeUserRemoval } from "./UserRemoval.ts"
import { toUser, UserRow } from "../shared/UserRow.ts"
import { UserId } from "@berth/domain/shared/UserId"
import * as Repository from "../Repository.ts"
import { currentDate } from "../DatabaseClock.ts"

const UserWithPassword = Schema.Struct({ ...UserRow.fields, passwordHash: Schema.NullOr(Schema.String) })

const IdRow = Schema.Struct({ id: UserId })

const PasswordRow = Schema.Struct({ passwordHash: Schema.NullOr(Schema.String) })

export const layer = Repository.layer(UserRepository, (sql) => {
  const decodeUser = mapFirstRow(UserRow, toUser)
  const decodePasswordHash = flow(
    decodeFirstRow(PasswordRow),
    Effect.map(Option.flatMapNullable(({ passwordHash }) => passwordHash))
  )
  const find = (id: UserId) => sql`select * from users where id = ${toStorableText(id)}`.pipe(decodeUser)

  return {
    find,
    ...makeUserRemoval(sql),
    // Weaker than `for update`: inserts that reference the user do not wait.
    findForUpdate: (id) => sql`select * from users where id = ${toStorableText(id)} for no key update`.pipe(decodeUser),
    // `on conflict`, since a caught violation would abort the transaction.
    insert: ({ email, id, name, passwordHash, referralCode }) =>
      Effect.gen(function* () {
        const now = yield* DateTime.now
        const user = yield* sql`
          insert into users ${sql.insert({
            id,
            email,
            name: toStorableText(name),
            passwordHash,
            notifications: toStorableJson(defaultNotificationPreferences),
            referralCode,
            createdAt: DateTime.toDate(now)
          })}
          on conflict (lower(email)) do nothing
          returning *`.pipe(decodeUser)
        return yield* Effect.mapError(user, () => new EmailAlreadyTaken())
      }),
    findByEmail: (email) =>
      sql`select * from users where lower(email) = lower(${toStorableText(email)})`.pipe(
        mapFirstRow(UserWithPassword, (row) => ({
          user: toUser(row),
          passwordHash: Option.fromNullable(row.passwordHash)
        }))
      ),
    findPasswordHash: (id) => sql`select password_hash from users where id = ${id}`.pipe(decodePasswordHash),
    findPasswordHashForUpdate: (id) =>
      sql`select password_hash from users where id = ${id} for share`.pipe(decodePasswordHash),
    // Conflicts with the `for share` of a password sign-in, but not with the key share lock of a new session.
    findByEmailForUpdate: (email) =>
      sql`select * from users where lower(email) = lower(${toStorableText(email)}) for no key update`.pipe(decodeUser),
    search: ({ limit, offset, text }) =>
      Effect.gen(function* () {
        const condition = Option.match(text, {
          onNone: () => sql`true`,
          onSome: (query) =>
            sql`(starts_with(lower(email), lower(${toStorableText(query)})) or id = ${toStorableText(query)})`
        })
        // Ids are ordered by creation time.
        const rows = yield* sql`
          select * from users where ${condition} order by id desc limit ${limit} offset ${offset}`.pipe(
          decodeRows(UserRow)
        )
        const total = yield* readCount(sql`select count(*)::int from users where ${condition}`)
        return { users: rows.map(toUser), total }
      }),
    setSuspendedAt: (id, suspendedAt) =>
      Effect.gen(function* () {
        const at = suspendedAt === null ? sql`null` : sql`coalesce(suspended_at, ${DateTime.toDate(suspendedAt)})`
        yield* execute(sql`update users set suspended_at = ${at} where id = ${id}`)
      }),
    findSuspended: (ids) =>
      sql`select id from users where ${sql.in("id", ids)} and suspended_at is not null`.pipe(
        decodeRows(IdRow),
        Effect.map((rows) => new Set(rows.map(({ id }) => id)))
      ),
    markEmailVerified: (id) =>
      Effect.flatMap(currentDate, (now) =>
        execute(sql`
          update users set email_verified_at = coalesce(email_verified_at, ${now}) where id = ${id}`)
      ),
    removePasswordHash: (id, since) =>
      execute(sql`
        update users set password_hash = null
        where id = ${id} and coalesce(password_set_at, created_at) >= ${DateTime.toDate(since)}`),
    setPasswordHash: (id, passwordHash) =>
      Effect.flatMap(currentDate, (now) =>
        affectsRow(sql`update users set password_hash = ${passwordHash}, password_set_at = ${now} where id = ${id}`)
      ),
    findByReferralCode: (code) =>
      sql`select * from users where lower(referral_code) = lower(${toStorableText(code)})`.pipe(decodeUser),
    update: (id, changes) =>
      Effect.gen(function* () {
        const { name, email, notifications } = changes
        const assignments = [
          ...(name === undefined ? [] : [sql`name = ${toStorableText(name)}`]),
          ...(email === undefined
            ? []
            : [
                // Right-hand sides read the old row; a different letter case of the same address stays verified.
                sql`email = ${email}`,
                sql`email_verified_at = case when lower(email) = lower(${email}) then email_verified_at end`
              ]),
          ...(notifications === undefined
            ? []
            : [sql`notifications = notifications || ${toStorableJson(notifications)}::jsonb`])
        ]
        if (assignments.length === 0) return yield* find(id)
        // A savepoint, so that a violation leaves the outer transaction usable.
        const rows = yield* sql
          .withTransaction(sql`update users set ${sql.csv(assignments)} where id = ${toStorableText(id)} returning *`)
          .pipe(
            Effect.catchAll((error) =>
              violatesConstraint("users_email_key")(error) ? new EmailAlreadyTaken() : Effect.die(error)
            )
          )
        return yield* decodeUser(Effect.succeed(rows))
      })
  }
})
