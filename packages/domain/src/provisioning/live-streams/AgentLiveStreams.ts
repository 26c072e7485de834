import { Effect } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import { LiveStreamRepository } from "./LiveStreamRepository.ts"
import { LiveStreams } from "./LiveStreams.ts"

/** The live streams that belong to agents. */
export class AgentLiveStreams extends Effect.Service<AgentLiveStreams>()("@berth/AgentLiveStreams", {
  effect: Effect.gen(function* () {
    const repository = yield* LiveStreamRepository
    const streams = yield* LiveStreams

    /** The agent's stream with its status, if it has one; callers have checked the ownership. */
    const find = Effect.fn("AgentLiveStreams.find")(function* (agentId: AgentId) {
      return yield* Effect.transposeMapOption(yield* repository.findByAgent(agentId), (stream) =>
        Effect.map(streams.status(stream.id), (status) => ({ ...stream, status }))
      )
    })

    /** Ends the streams of deleted agents. A stream whose provider is away is tried again by the next call. */
    const endAbandoned = Effect.fn("AgentLiveStreams.endAbandoned")(function* () {
      yield* Effect.forEach(
        yield* repository.listAbandoned,
        (id) =>
          streams.end(id).pipe(
            Effect.zipRight(repository.remove(id)),
            Effect.catchTag("LiveStreamsUnavailable", ({ reason }) =>
              Effect.logWarning("Live stream not ended").pipe(Effect.annotateLogs({ liveStreamId: id, reason }))
            )
          ),
        { discard: true }
      )
    })

    return { find, endAbandoned }
  })
}) {}
