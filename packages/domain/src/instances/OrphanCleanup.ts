import { Duration, Effect, Schedule } from "effect"
import { Users } from "../accounts/Users.ts"
import { InstanceDriver } from "./InstanceDriver.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import type { UserId } from "../shared/UserId.ts"

const orphanScanInterval = Duration.minutes(10)

/**
 * Removes the instances and files of deleted accounts. Keeps those with unknown ids: a backend started with the
 * database of another installation must not delete files.
 */
export class OrphanCleanup extends Effect.Service<OrphanCleanup>()("@berth/OrphanCleanup", {
  scoped: Effect.gen(function* () {
    const users = yield* Users
    const driver = yield* InstanceDriver
    const instances = yield* InstanceRepository

    /** Under the owner's lock: no launch is in progress, and none can follow for a deleted account. */
    const remove = Effect.fn("OrphanCleanup.remove")(function* (userId: UserId) {
      yield* Effect.annotateCurrentSpan({ "user.id": userId })
      yield* instances.serialized(
        userId,
        Effect.gen(function* () {
          if ((yield* users.findAbsent([userId])).get(userId) !== "deleted")
            return yield* Effect.logWarning("Instance kept because its account is not deleted").pipe(
              Effect.annotateLogs({ userId })
            )
          yield* driver.remove(userId)
          yield* Effect.logInfo("Instance of a deleted account removed").pipe(Effect.annotateLogs({ userId }))
        })
      )
    })

    /** Finds accounts deleted while this backend was down. */
    const scan = Effect.gen(function* () {
      const absent = [...(yield* users.findAbsent(yield* driver.listOwners))]
      const unknown = absent.flatMap(([id, why]) => (why === "unknown" ? [id] : []))
      if (unknown.length > 0)
        yield* Effect.logWarning("Instances of unknown owners kept").pipe(
          Effect.annotateLogs({ owners: unknown.length, userIds: unknown.slice(0, 10) })
        )
      yield* Effect.forEach(
        absent.flatMap(([id, why]) => (why === "deleted" ? [id] : [])),
        (id) =>
          Effect.catchAllCause(remove(id), (cause) =>
            Effect.logWarning("Instance of a deleted account not removed", cause).pipe(
              Effect.annotateLogs({ userId: id })
            )
          ),
        { concurrency: 4, discard: true }
      )
    }).pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("Scan for orphaned instances failed", cause)),
      Effect.withSpan("OrphanCleanup.scan", { root: true })
    )
    yield* Effect.forkScoped(Effect.interruptible(Effect.repeat(scan, Schedule.spaced(orphanScanInterval))))

    return { remove }
  })
}) {}
