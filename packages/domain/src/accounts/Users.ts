import { Effect, Option } from "effect"
import { UserNotFound } from "./AccountErrors.ts"
import type { Email } from "../shared/Email.ts"
import type { UserId } from "../shared/User.ts"
import { UserRepository } from "./UserRepository.ts"

/** Users as other contexts see them. */
export class Users extends Effect.Service<Users>()("@berth/Users", {
  effect: Effect.gen(function* () {
    const repository = yield* UserRepository
    const find = Effect.fn("Users.find")(function* (id: UserId) {
      return yield* Effect.mapError(yield* repository.find(id), () => new UserNotFound())
    })
    /** Of the ids that are no user's: whether each was deleted, or was never heard of. */
    const findAbsent = Effect.fn("Users.findAbsent")(function* (ids: ReadonlyArray<UserId>) {
      return yield* repository.findAbsent(ids)
    })
    /** The same as `find`, and until the running transaction ends nobody else holds or changes him. */
    const findForUpdate = Effect.fn("Users.findForUpdate")(function* (id: UserId) {
      return yield* Effect.mapError(yield* repository.findForUpdate(id), () => new UserNotFound())
    })
    const findByEmail = Effect.fn("Users.findByEmail")(function* (email: Email) {
      return Option.map(yield* repository.findByEmail(email), ({ user }) => user)
    })
    return { find, findForUpdate, findByEmail, findAbsent }
  })
}) {}
