import { EmailAlreadyTaken } from "@berth/domain/accounts/AccountErrors"
import type { Email } from "@berth/domain/shared/Email"
import { defaultNotificationPreferences } from "@berth/domain/shared/User"
import { type NewUser, type UserChanges, UserRepository } from "@berth/domain/accounts/UserRepository"
import type { UserQuery } from "@berth/domain/accounts/UserSearch"
import { SqlClient } from "@effect/sql/SqlClient"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { affectsRow, decodeFirstRow, decodeRows, execute, readCount } from "../Rows.ts"
import { violatesConstraint } from "../SqlErrors.ts"
import { toStorableJson, toStorableText } from "../StorableText.ts"
import { makeUserRemoval } from "./UserRemoval.ts"
import { toUser, UserRow } from "../shared/UserRow.ts"
import { UserId } from "@berth/domain/shared/UserId"

const UserWithPassword = Schema.Struct({ ...UserRow.fields, passwordHash: Schema.NullOr(Schema.String) })

const IdRow = Schema.Struct({ id: UserId })

const PasswordRow = Schema.Struct({ passwordHash: Schema.NullOr(Schema.String) })

export const layer: Layer.Layer<UserRepository, never, SqlClient> = Layer.effect(
  UserRepository,
  Effect.gen(function* () {
    const sql = yield* SqlClient

    const find = Effect.fn("UserRepository.find")(function* (id: UserId) {
      const row = yield* sql`select * from users where id = ${toStorableText(id)}`.pipe(decodeFirstRow(UserRow))
      return Option.map(row, toUser)
    })

    return UserRepository.of({
      find,
      ...makeUserRemoval(sql),
      findForUpdate: Effect.fn("UserRepository.findForUpdate")(function* (id: UserId) {
        // Weaker than `for update`: inserts that reference the user do not wait.
        const row = yield* sql`select * from users where id = ${toStorableText(id)} for no key update`.pipe(
          decodeFirstRow(UserRow)
        )
        return Option.map(row, toUser)
      }),
      // `on conflict`, since a caught violation would abort the transaction.
      insert: Effect.fn("UserRepository.insert")(function* (user: NewUser) {
        const now = yield* DateTime.now
        const row = yield* sql`
          insert into users ${sql.insert({
            id: user.id,
            email: user.email,
            name: toStorableText(user.name),
            passwordHash: user.passwordHash,
            notifications: toStorableJson(defaultNotificationPreferences),
            referralCode: user.referralCode,
            createdAt: DateTime.toDate(now)
          })}
          on conflict (lower(email)) do nothing
          returning *`.pipe(decodeFirstRow(UserRow))
        if (Option.isNone(row)) return yield* new EmailAlreadyTaken()
        return toUser(row.value)
      }),
      findByEmail: Effect.fn("UserRepository.findByEmail")(function* (email: Email) {
        const row = yield* sql`select * from users where lower(email) = lower(${toStorableText(email)})`.pipe(
          decodeFirstRow(UserWithPassword)
        )
        return Option.map(row, (found) => ({
          user: toUser(found),
          passwordHash: Option.fromNullable(found.passwordHash)
        }))
      }),
      findPasswordHash: Effect.fn("UserRepository.findPasswordHash")(function* (id: UserId) {
        const row = yield* sql`select password_hash from users where id = ${id}`.pipe(decodeFirstRow(PasswordRow))
        return Option.flatMapNullable(row, ({ passwordHash }) => passwordHash)
      }),
      findPasswordHashForUpdate: Effect.fn("UserRepository.findPasswordHashForUpdate")(function* (id: UserId) {
        const row = yield* sql`select password_hash from users where id = ${id} for share`.pipe(
          decodeFirstRow(PasswordRow)
        )
        return Option.flatMapNullable(row, ({ passwordHash }) => passwordHash)
      }),
      findByEmailForUpdate: Effect.fn("UserRepository.findByEmailForUpdate")(function* (email: Email) {
        // Conflicts with the `for share` of a password sign-in, but not with the key share lock of a new session.
        const row = yield* sql`
          select * from users where lower(email) = lower(${toStorableText(email)}) for no key update`.pipe(
          decodeFirstRow(UserRow)
        )
        return Option.map(row, toUser)
      }),
      search: Effect.fn("UserRepository.search")(function* ({ limit, offset, text }: UserQuery) {
        const condition = Option.match(text, {
          onNone: () => sql`true`,
          onSome: (given) =>
            sql`(starts_with(lower(email), lower(${toStorableText(given)})) or id = ${toStorableText(given)})`
        })
        // Ids are ordered by creation time.
        const rows = yield* sql`
          select * from users where ${condition} order by id desc limit ${limit} offset ${offset}`.pipe(
          decodeRows(UserRow)
        )
        const total = yield* readCount(sql`select count(*)::int from users where ${condition}`)
        return { users: rows.map(toUser), total }
      }),
      setSuspendedAt: Effect.fn("UserRepository.setSuspendedAt")(function* (
        id: UserId,
        suspendedAt: DateTime.Utc | null
      ) {
        const at = suspendedAt === null ? sql`null` : sql`coalesce(suspended_at, ${DateTime.toDate(suspendedAt)})`
        yield* execute(sql`update users set suspended_at = ${at} where id = ${id}`)
      }),
      findSuspended: Effect.fn("UserRepository.findSuspended")(function* (ids: ReadonlyArray<UserId>) {
        const rows = yield* sql`select id from users where ${sql.in("id", ids)} and suspended_at is not null`.pipe(
          decodeRows(IdRow)
        )
        return new Set(rows.map(({ id }) => id))
      }),
      markEmailVerified: Effect.fn("UserRepository.markEmailVerified")(function* (id: UserId) {
        const now = DateTime.toDate(yield* DateTime.now)
        yield* execute(sql`
          update users set email_verified_at = coalesce(email_verified_at, ${now}) where id = ${id}`)
      }),
      removePasswordHash: Effect.fn("UserRepository.removePasswordHash")((id: UserId, since: DateTime.Utc) =>
        execute(sql`
          update users set password_hash = null
          where id = ${id} and coalesce(password_set_at, created_at) >= ${DateTime.toDate(since)}`)
      ),
      setPasswordHash: Effect.fn("UserRepository.setPasswordHash")(function* (id: UserId, passwordHash: string) {
        const now = DateTime.toDate(yield* DateTime.now)
        return yield* affectsRow(
          sql`update users set password_hash = ${passwordHash}, password_set_at = ${now} where id = ${id}`
        )
      }),
      findByReferralCode: Effect.fn("UserRepository.findByReferralCode")(function* (code: string) {
        const row = yield* sql`select * from users where lower(referral_code) = lower(${toStorableText(code)})`.pipe(
          decodeFirstRow(UserRow)
        )
        return Option.map(row, toUser)
      }),
      update: Effect.fn("UserRepository.update")(function* (id: UserId, changes: UserChanges) {
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
        const row = yield* decodeFirstRow(UserRow)(Effect.succeed(rows))
        return Option.map(row, toUser)
      })
    })
  })
)
