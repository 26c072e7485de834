import { Effect } from "effect"
import { UserIsUnknown } from "./AccountErrors.ts"
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
    return { find, absentAmong }
  })
}) {}
