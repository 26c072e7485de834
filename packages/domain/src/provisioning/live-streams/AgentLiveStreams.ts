import { Duration, Effect, Option, type Redacted } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import { AgentLog } from "../../instances/AgentLog.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { broadcastEnded, broadcastStarted, type LiveStream } from "./LiveStream.ts"
import { LiveStreamRepository } from "./LiveStreamRepository.ts"
import { LiveStreams } from "./LiveStreams.ts"

export interface RotatedLiveStream extends Pick<LiveStream, "id" | "playbackUrl"> {
  /** Secret for the encoder, shown once. */
  readonly streamKey: Redacted.Redacted
}

/** Longer than a call to a provider. */
const rotationTimeout = Duration.minutes(1)

export class AgentLiveStreams extends Effect.Service<AgentLiveStreams>()("@berth/AgentLiveStreams", {
  effect: Effect.gen(function* () {
    const repository = yield* LiveStreamRepository
    const streams = yield* LiveStreams
    const log = yield* AgentLog
    const transaction = yield* Transaction

    /** Returns the agent's stream with its status, if any. Callers check ownership. */
    const find = Effect.fn("AgentLiveStreams.find")(function* (agentId: AgentId) {
      return yield* Effect.transposeMapOption(yield* repository.findByAgent(agentId), (stream) =>
        Effect.map(streams.status(stream.id), (status) => ({ ...stream, status }))
      )
    })

    /**
     * Replaces the stream key; uploads with the old key are then rejected. None without a stream. Must not run in a
     * transaction, since it can call a provider.
     */
    const rotateKey = Effect.fn("AgentLiveStreams.rotateKey")(function* (agentId: AgentId) {
      const stream = yield* repository.findByAgent(agentId)
      if (Option.isNone(stream)) return Option.none<RotatedLiveStream>()
      const { id, playbackUrl } = stream.value
      return yield* Effect.transposeMapOption(yield* streams.rotateKey(id), ({ keyHash, streamKey }) =>
        Effect.as(repository.setKeyHash(id, keyHash), { id, playbackUrl, streamKey })
      )
    })

    /**
     * Invalidates the key when the running transaction commits. True if the caller must replace it afterwards;
     * otherwise another process does.
     */
    const expireKey = (agentId: AgentId) => repository.expireKey(agentId, rotationTimeout)

    /** Invalidates the key when the running transaction commits. Its replacement is not disclosed. */
    const revokeKey = (agentId: AgentId) => repository.expireKey(agentId, Duration.zero)

    /** Replaces due keys. Retried later if the provider is unavailable. */
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

    /** Ends the streams of deleted agents. The next call retries those with an unavailable provider. */
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

    /** Records the beginnings and ends of broadcasts at a provider. */
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
