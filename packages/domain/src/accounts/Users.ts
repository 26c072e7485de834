import { Effect, Option } from "effect"
import type { Email } from "../shared/Email.ts"
import { UserNotFound } from "./AccountErrors.ts"
import { UserRepository } from "./UserRepository.ts"
import type { UserId } from "../shared/UserId.ts"

export class Users extends Effect.Service<Users>()("@berth/Users", {
  effect: Effect.gen(function* () {
    const repository = yield* UserRepository

    const find = Effect.fn("Users.find")(function* (id: UserId) {
      return yield* Effect.mapError(yield* repository.find(id), () => new UserNotFound())
    })
    /** Locks the user until the running transaction ends. */
    const findForUpdate = Effect.fn("Users.findForUpdate")(function* (id: UserId) {
      return yield* Effect.mapError(yield* repository.findForUpdate(id), () => new UserNotFound())
    })
    const findByEmail = Effect.fn("Users.findByEmail")(function* (email: Email) {
      return Option.map(yield* repository.findByEmail(email), ({ user }) => user)
    })

    const { findAbsent, findSuspended, remove, search, setSuspendedAt } = repository
    return { find, findForUpdate, findByEmail, search, setSuspendedAt, findSuspended, findAbsent, remove }
  })
}) {}
