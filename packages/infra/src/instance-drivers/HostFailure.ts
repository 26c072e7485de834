import { InstanceHostUnavailable, InstanceStartFailed } from "@berth/domain/instances/InstanceDriver"
import type { UserId } from "@berth/domain/shared/UserId"
import { Effect } from "effect"

/** Reports a failure of the host itself, after which the state of the instance is unknown. */
export const toHostUnavailable = ({ message }: { readonly message: string }): InstanceHostUnavailable =>
  new InstanceHostUnavailable({ reason: message })

/** Separates failures of the host from failures of a start. */
export const makeToStartFailed =
  <E extends Error>(isHostProblem: (error: E) => boolean) =>
  (owner: UserId) =>
    Effect.mapError((error: E) =>
      isHostProblem(error) ? toHostUnavailable(error) : new InstanceStartFailed({ owner, reason: error.message })
    )

/** Logs a failed cleanup after another failure, which is reported instead. The next start repeats the cleanup. */
export const logCleanupFailure = (cleanup: Effect.Effect<unknown, Error>): Effect.Effect<void> =>
  Effect.catchAll(Effect.asVoid(cleanup), ({ message }) =>
    Effect.logWarning("Instance cleanup failed").pipe(Effect.annotateLogs({ reason: message }))
  )

export const logReplaced = (owner: UserId, reason: string) =>
  Effect.logWarning("Instance replaced").pipe(Effect.annotateLogs({ userId: owner, reason }))

/** Stops the instances of a closing driver. Failures are logged, so that one does not keep the others running. */
export const stopAll = (
  owners: ReadonlyArray<UserId>,
  stop: (owner: UserId) => Effect.Effect<void, InstanceHostUnavailable>
): Effect.Effect<void> =>
  Effect.forEach(
    owners,
    (owner) =>
      Effect.catchAll(stop(owner), ({ reason }) =>
        Effect.logWarning("Instance not stopped").pipe(Effect.annotateLogs({ userId: owner, reason }))
      ),
    { concurrency: 16, discard: true }
  )
