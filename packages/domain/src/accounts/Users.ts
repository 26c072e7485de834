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
    return { find }
  })
}) {}
