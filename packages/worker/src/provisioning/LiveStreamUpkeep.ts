import { AgentLiveStreams } from "@berth/domain/provisioning/live-streams/AgentLiveStreams"
import { LiveOrigin } from "@berth/domain/provisioning/live-streams/LiveOrigin"
import { Effect, Layer } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

const every = "10 seconds"

/**
 * Records broadcasts at the provider, ends those without an encoder and the streams of deleted agents, replaces
 * expired keys, and deletes old files.
 */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const origin = yield* LiveOrigin
    const streams = yield* AgentLiveStreams
    const upkeep = <A, E, R>(name: string, work: Effect.Effect<A, E, R>) =>
      runRecurringTask(name, every, Effect.withTracerEnabled(work, false))
    yield* upkeep("end idle broadcasts", origin.endIdleBroadcasts())
    yield* upkeep("record broadcasts at the provider", streams.recordBroadcasts())
    yield* upkeep("replace due stream keys", streams.rotateDueKeys())
    yield* upkeep("end abandoned live streams", streams.endAbandoned())
    yield* upkeep("retention of live files", origin.pruneFiles)
  })
)
