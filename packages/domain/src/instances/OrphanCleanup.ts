import { Duration, Effect, Schedule } from "effect"
import { Users } from "../accounts/Users.ts"
import { InstanceDriver } from "./InstanceDriver.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import type { UserId } from "../shared/UserId.ts"

/** How often this host is looked over. */
export const orphanScanInterval = Duration.minutes(10)

/**
 * What owners leave behind whose accounts were deleted: cells and files. Only an id that is known to have been a user's is
 * cleared away. What belongs to nobody that was ever heard of stays where it is: a backend that was started with another
 * installation's database must not delete the files of everybody.
 */
export class OrphanCleanup extends Effect.Service<OrphanCleanup>()("@berth/OrphanCleanup", {
  scoped: Effect.gen(function* () {
    const users = yield* Users
    const driver = yield* InstanceDriver
    const instances = yield* InstanceRepository

    /** In the owner's turn: a launch that was in work when the account went has left what it started, and none follows it. */
    const remove = Effect.fn("OrphanCleanup.remove")(function* (userId: UserId) {
      yield* Effect.annotateCurrentSpan({ "user.id": userId })
      yield* instances.serialized(
        userId,
        Effect.gen(function* () {
          if ((yield* users.findAbsent([userId])).get(userId) !== "deleted")
            return yield* Effect.logWarning("Nothing was cleared away, for this account was not deleted").pipe(
              Effect.annotateLogs({ userId })
            )
          yield* driver.remove(userId)
          yield* Effect.logInfo("The cell and the files of a deleted account are gone").pipe(
            Effect.annotateLogs({ userId })
          )
        })
      )
    })

    /** For accounts whose removal this host missed, being down or cut off when it was its turn. */
    const lookOver = Effect.gen(function* () {
      const absent = [...(yield* users.findAbsent(yield* driver.listOwners))]
      const unknown = absent.flatMap(([id, why]) => (why === "unknown" ? [id] : []))
      if (unknown.length > 0)
        yield* Effect.logWarning("There are files of owners that this database has never heard of; they stay").pipe(
          Effect.annotateLogs({ owners: unknown.length, userIds: unknown.slice(0, 10) })
        )
      yield* Effect.forEach(
        absent.flatMap(([id, why]) => (why === "deleted" ? [id] : [])),
        (id) =>
          Effect.catchAllCause(remove(id), (cause) =>
            Effect.logWarning("What a deleted account left could not be cleared away", cause).pipe(
              Effect.annotateLogs({ userId: id })
            )
          ),
        { concurrency: 4, discard: true }
      )
    }).pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("This host could not be looked over", cause)),
      Effect.withSpan("OrphanCleanup.lookOver", { root: true })
    )
    yield* Effect.forkScoped(Effect.interruptible(Effect.repeat(lookOver, Schedule.spaced(orphanScanInterval))))

    return { remove }
  })
}) {}
