import { Duration, Effect } from "effect"
import { InstanceActionJob } from "../instances/InstanceJobs.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { RemoveAccountJob } from "../recovery/deletion/AccountDeletionJobs.ts"
import { AgentLiveStreams } from "./live-streams/AgentLiveStreams.ts"
import { UnclaimedAgents, UnclaimedPolicy } from "./UnclaimedAgents.ts"

/** Expires unclaimed agents: instance and stream key after the lifetime, the account after twice that time. */
export class UnclaimedExpiry extends Effect.Service<UnclaimedExpiry>()("@berth/UnclaimedExpiry", {
  effect: Effect.gen(function* () {
    const unclaimed = yield* UnclaimedAgents
    const liveStreams = yield* AgentLiveStreams
    const outbox = yield* Outbox
    const transaction = yield* Transaction
    const { lifetime } = yield* UnclaimedPolicy

    /** Idempotent: each owner is stopped and removed once. */
    const run = Effect.fn("UnclaimedExpiry.run")(function* () {
      const stopped = yield* transaction.run(
        Effect.tap(unclaimed.markStopped(lifetime), (agents) =>
          Effect.forEach(
            agents,
            ({ agentId, ownerId }) =>
              Effect.zipRight(
                outbox.append(InstanceActionJob, { userId: ownerId, action: "stop" as const }, ownerId),
                liveStreams.revokeKey(agentId)
              ),
            { discard: true }
          )
        )
      )
      const removed = yield* transaction.run(
        Effect.tap(unclaimed.markRemoved(Duration.times(lifetime, 2)), (agents) =>
          Effect.forEach(agents, ({ ownerId }) => outbox.append(RemoveAccountJob, { userId: ownerId }), {
            discard: true
          })
        )
      )
      if (stopped.length + removed.length > 0)
        yield* Effect.logInfo("Unclaimed agents expired").pipe(
          Effect.annotateLogs({ stopped: stopped.length, removed: removed.length })
        )
    })

    return { run }
  })
}) {}
