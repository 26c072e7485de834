import { UserRepository } from "@berth/domain/accounts/UserRepository"
import { AuditLog } from "@berth/domain/administration/audit/AuditLog"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { Email } from "@berth/domain/shared/Email"
import { UserId } from "@berth/domain/shared/UserId"
import { Effect, Option } from "effect"
import * as App from "../support/TestApp.ts"

export const signInAdministrator = Effect.gen(function* () {
  const users = yield* UserRepository
  const email = Email.make(App.testAdminEmail)
  const found = yield* users.findByEmail(email)
  if (Option.isSome(found)) return yield* App.openSession(found.value.user)
  const id = UserId.make(yield* (yield* IdGenerator).next("usr"))
  return yield* App.openSession(
    yield* users.insert({ id, email, name: "Admin", passwordHash: null, referralCode: "admin" })
  )
})

export const asAdministrator = (call: App.AppCall) =>
  Effect.gen(function* () {
    return yield* App.web({ ...call, as: yield* signInAdministrator })
  })

export const auditOf = (userId: UserId) =>
  Effect.flatMap(AuditLog, ({ list }) =>
    Effect.map(list({ userId: Option.some(userId), actor: Option.none(), limit: 50, offset: 0 }), ({ entries }) =>
      entries.map(({ action, after, before, reason }): object => ({ action, after, before, reason }))
    )
  )
