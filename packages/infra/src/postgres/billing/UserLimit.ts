import * as OwnerLocks from "@berth/domain/shared/OwnerLocks"
import type { UserId } from "@berth/domain/shared/UserId"
import { Effect } from "effect"
import { isInTransaction } from "../DirectQueries.ts"

/**
 * Concurrent changes of a user's units per process that can wait for locks. Each holds a connection meanwhile, so further
 * ones wait outside of the database.
 */
const maximumChanges = 4

/** Limits the changes of a user, except in a transaction: another change can wait for its locks. */
export const makeLimitPerUser = Effect.map(
  OwnerLocks.makeLimited(maximumChanges),
  (limitPerUser) =>
    <A, E, R>(userId: UserId, change: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.withFiberRuntime(({ currentContext }) =>
        isInTransaction(currentContext) ? change : limitPerUser(userId, change)
      )
)
export type LimitPerUser = Effect.Effect.Success<typeof makeLimitPerUser>
