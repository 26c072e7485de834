import { InstanceHostUnavailable } from "@berth/domain/instances/InstanceDriver"
import type { UserId } from "@berth/domain/shared/UserId"
import { Effect } from "effect"

/** A failure of the host itself, after which the state of the instance is unknown. */
export const toHostUnavailable = ({ message }: { readonly message: string }): InstanceHostUnavailable =>
  new InstanceHostUnavailable({ reason: message })

/** Stops the instances of a driver that closes. Failures are logged, so that one does not keep the others running. */
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
