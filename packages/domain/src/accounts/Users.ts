import { Effect, Option } from "effect"
import { UserIsUnknown } from "./AccountErrors.ts"
import type { Email } from "./Email.ts"
import type { UserId } from "./User.ts"
import { UserRepository } from "./UserRepository.ts"

/** Users as other contexts see them. */
export class Users extends Effect.Service<Users>()("@berth/Users", {
  effect: Effect.gen(function* () {
    const repository = yield* UserRepository
    const find = Effect.fn("Users.find")(function* (id: UserId) {
      return yield* Effect.mapError(yield* repository.find(id), () => new UserIsUnknown())
    })
    /** Of the ids that are no user's: whether each was deleted, or was never heard of. */
    const absentAmong = Effect.fn("Users.absentAmong")(function* (ids: ReadonlyArray<UserId>) {
      return yield* repository.absentAmong(ids)
    })
    /** The same as `find`, and until the running transaction ends nobody else holds or changes him. */
    const hold = Effect.fn("Users.hold")(function* (id: UserId) {
      return yield* Effect.mapError(yield* repository.hold(id), () => new UserIsUnknown())
    })
    const findByEmail = Effect.fn("Users.findByEmail")(function* (email: Email) {
      return Option.map(yield* repository.findByEmail(email), ({ user }) => user)
    })
    return { find, hold, findByEmail, absentAmong }
  })
}) {}
