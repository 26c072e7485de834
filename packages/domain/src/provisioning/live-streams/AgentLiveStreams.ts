import { Duration, Effect, Option, type Redacted } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import { AgentLog } from "../../instances/AgentLog.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { broadcastEnded, broadcastStarted, type LiveStream } from "./LiveStream.ts"
import { LiveStreamRepository } from "./LiveStreamRepository.ts"
import { LiveStreams } from "./LiveStreams.ts"

export interface RotatedLiveStream extends Pick<LiveStream, "id" | "playbackUrl"> {
  /** Secret of the encoder, shown once. */
  readonly streamKey: Redacted.Redacted
}

/** Longer than a call of a provider takes. */
const rotationTimeout = Duration.minutes(1)

/** The live streams that belong to agents. */
export class AgentLiveStreams extends Effect.Service<AgentLiveStreams>()("@berth/AgentLiveStreams", {
  effect: Effect.gen(function* () {
    const repository = yield* LiveStreamRepository
    const streams = yield* LiveStreams
    const log = yield* AgentLog
    const transaction = yield* Transaction

    /** The agent's stream with its status, if it has one; callers have checked the ownership. */
    const find = Effect.fn("AgentLiveStreams.find")(function* (agentId: AgentId) {
      return yield* Effect.transposeMapOption(yield* repository.findByAgent(agentId), (stream) =>
        Effect.map(streams.status(stream.id), (status) => ({ ...stream, status }))
      )
    })

    /** Replaces the stream key; uploads with the old one are refused from then on. None without a stream. Not within a transaction: it can call a provider. */
    const rotateKey = Effect.fn("AgentLiveStreams.rotateKey")(function* (agentId: AgentId) {
      const stream = yield* repository.findByAgent(agentId)
      if (Option.isNone(stream)) return Option.none<RotatedLiveStream>()
      const { id, playbackUrl } = stream.value
      return yield* Effect.transposeMapOption(yield* streams.rotateKey(id), ({ keyHash, streamKey }) =>
        Effect.as(repository.setKeyHash(id, keyHash), { id, playbackUrl, streamKey })
      )
    })

    /** Refuses the key from the commit of the running transaction on. True when the caller is to replace it after that; others do so later. */
    const expireKey = (agentId: AgentId) => repository.expireKey(agentId, rotationTimeout)

    /** Refuses the key from the commit of the running transaction on; it is replaced by one that is not known to anyone. */
    const revokeKey = (agentId: AgentId) => repository.expireKey(agentId, Duration.zero)

    /** Replaces the keys that are due. One whose provider is away is tried again later. */
    const rotateDueKeys = Effect.fn("AgentLiveStreams.rotateDueKeys")(function* () {
      yield* Effect.forEach(
        yield* repository.claimDueKeys(rotationTimeout),
        (agentId) =>
          Effect.catchTag(rotateKey(agentId), "LiveStreamsUnavailable", ({ reason }) =>
            Effect.logWarning("Stream key not replaced").pipe(Effect.annotateLogs({ agentId, reason }))
          ),
        { discard: true }
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

    /** Records the starts and ends of broadcasts at a provider. */
    const recordBroadcasts = Effect.fn("AgentLiveStreams.recordBroadcasts")(function* () {
      const active = yield* streams.listActive
      if (Option.isNone(active)) return
      yield* transaction.run(
        Effect.flatMap(repository.recordActive(active.value), ({ ended, started }) =>
          Effect.all([
            Effect.forEach(started, (agentId) => log.append(agentId, "info", broadcastStarted), { discard: true }),
            Effect.forEach(ended, (agentId) => log.append(agentId, "info", broadcastEnded), { discard: true })
          ])
        )
      )
    })

    return { find, rotateKey, expireKey, revokeKey, rotateDueKeys, recordBroadcasts, endAbandoned }
  })
}) {}
