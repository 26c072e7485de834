import { EmailIsTaken } from "@berth/domain/accounts/AccountErrors"
import type { Email } from "@berth/domain/accounts/Email"
import { defaultNotifications, type UserId } from "@berth/domain/accounts/User"
import { type NewUser, type UserChanges, UserRepository } from "@berth/domain/accounts/UserRepository"
import { unitsOfCredits } from "@berth/domain/billing/UnitSplit"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { DateTime, Effect, Layer, Option, Schema } from "effect"
import { makeLedger } from "./Ledger.ts"
import { affected, first } from "./Rows.ts"
import { violates } from "./SqlErrors.ts"
import { storableJson, storableText } from "./Storable.ts"
import { makeUserRemoval } from "./UserRemoval.ts"
import { toUser, UserRow } from "./UserRow.ts"

const UserWithPassword = Schema.Struct({ ...UserRow.fields, passwordHash: Schema.NullOr(Schema.String) })

const PasswordRow = Schema.Struct({ passwordHash: Schema.NullOr(Schema.String) })

export const layer: Layer.Layer<UserRepository, never, SqlClient | IdGenerator> = Layer.effect(
  UserRepository,
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const ids = yield* IdGenerator
    const ledger = makeLedger(sql, ids)

    const find = Effect.fn("UserRepository.find")(function* (id: UserId) {
      const row = yield* sql`select * from users where id = ${storableText(id)}`.pipe(first(UserRow), Effect.orDie)
      return Option.map(row, toUser)
    })

    return UserRepository.of({
      find,
      ...makeUserRemoval(sql),
      hold: Effect.fn("UserRepository.hold")(function* (id: UserId) {
        // Not so strong that what refers to the user would have to wait.
        const row = yield* sql`select * from users where id = ${storableText(id)} for no key update`.pipe(
          first(UserRow),
          Effect.orDie
        )
        return Option.map(row, toUser)
      }),
      // `on conflict` rather than catching the violation, which would abort the transaction around it.
      insert: Effect.fn("UserRepository.insert")(function* (user: NewUser) {
        const now = yield* DateTime.now
        const row = yield* sql`
          insert into users ${sql.insert({
            id: user.id,
            email: user.email,
            name: storableText(user.name),
            passwordHash: user.passwordHash,
            notifications: storableJson(defaultNotifications),
            referralCode: user.referralCode,
            createdAt: DateTime.toDate(now)
          })}
          on conflict (lower(email)) do nothing
          returning *`.pipe(first(UserRow), Effect.orDie)
        if (Option.isNone(row)) return yield* new EmailIsTaken()
        return toUser(row.value)
      }),
      findByEmail: Effect.fn("UserRepository.findByEmail")(function* (email: Email) {
        const row = yield* sql`select * from users where lower(email) = lower(${storableText(email)})`.pipe(
          first(UserWithPassword),
          Effect.orDie
        )
        return Option.map(row, (found) => ({
          user: toUser(found),
          passwordHash: Option.fromNullable(found.passwordHash)
        }))
      }),
      findPasswordHash: Effect.fn("UserRepository.findPasswordHash")(function* (id: UserId) {
        const row = yield* sql`select password_hash from users where id = ${id}`.pipe(first(PasswordRow), Effect.orDie)
        return Option.flatMapNullable(row, ({ passwordHash }) => passwordHash)
      }),
      holdPasswordHash: Effect.fn("UserRepository.holdPasswordHash")(function* (id: UserId) {
        const row = yield* sql`select password_hash from users where id = ${id} for share`.pipe(
          first(PasswordRow),
          Effect.orDie
        )
        return Option.flatMapNullable(row, ({ passwordHash }) => passwordHash)
      }),
      setPasswordHash: Effect.fn("UserRepository.setPasswordHash")(function* (id: UserId, passwordHash: string) {
        const changed = yield* affected(sql`update users set password_hash = ${passwordHash} where id = ${id}`).pipe(
          Effect.orDie
        )
        return changed === 1
      }),
      findByReferralCode: Effect.fn("UserRepository.findByReferralCode")(function* (code: string) {
        const row = yield* sql`select * from users where lower(referral_code) = lower(${storableText(code)})`.pipe(
          first(UserRow),
          Effect.orDie
        )
        return Option.map(row, toUser)
      }),
      update: Effect.fn("UserRepository.update")(function* (id: UserId, changes: UserChanges) {
        const { name, email, notifications } = changes
        const assignments = [
          ...(name === undefined ? [] : [sql`name = ${storableText(name)}`]),
          ...(email === undefined
            ? []
            : [
                // The right-hand sides see the row as it was; another spelling of the same address stays verified.
                sql`email = ${email}`,
                sql`email_verified_at = case when lower(email) = lower(${email}) then email_verified_at end`
              ]),
          ...(notifications === undefined
            ? []
            : [sql`notifications = notifications || ${storableJson(notifications)}::jsonb`])
        ]
        if (assignments.length === 0) return yield* find(id)
        // A savepoint of its own, so that a violation leaves a transaction around it usable.
        const row = yield* sql
          .withTransaction(
            sql`update users set ${sql.csv(assignments)} where id = ${storableText(id)} returning *`.pipe(
              first(UserRow)
            )
          )
          .pipe(
            Effect.mapError((error) => (violates("users_email_key")(error) ? new EmailIsTaken() : error)),
            Effect.catchAll((error) => (error instanceof SqlError ? Effect.die(error) : Effect.fail(error)))
          )
        return Option.map(row, toUser)
      }),
      markEmailVerified: Effect.fn("UserRepository.markEmailVerified")(function* (id: UserId) {
        const now = DateTime.toDate(yield* DateTime.now)
        yield* sql`update users set email_verified_at = ${now} where id = ${id}`.pipe(Effect.orDie)
      }),
      addCredits: Effect.fn("UserRepository.addCredits")(function* (id: UserId, credits: number) {
        const units = unitsOfCredits(credits)
        if (units === 0) return
        yield* sql
          .withTransaction(
            Effect.zipRight(
              sql`update users set credit_units = credit_units + ${units} where id = ${id}`,
              ledger.move({ userId: id, from: "grants", to: "credits", units, cause: "credits-added" })
            )
          )
          .pipe(Effect.orDie)
      })
    })
  })
)
