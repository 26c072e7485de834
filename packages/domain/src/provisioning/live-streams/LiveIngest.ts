import { Clock, Duration, Effect, Fiber, type Redacted } from "effect"
import { AgentLog } from "../../instances/AgentLog.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Digests, hashSecret } from "../../secrets/Digests.ts"
import { computeStorageShare } from "./FairShare.ts"
import { isPlaylistName, parseLiveFileName } from "./LiveFile.ts"
import { parseLivePlaylist } from "./LivePlaylist.ts"
import { makeLiveSlots } from "./LiveSlots.ts"
import { broadcastEnded, broadcastIdleTimeout, broadcastStarted, type LiveStream, liveLimits } from "./LiveStream.ts"
import { LiveFileNameInvalid, LivePlaylistInvalid, LiveStreamNotFound } from "./LiveStreamErrors.ts"
import { LiveStreamRepository, type LiveUpload } from "./LiveStreamRepository.ts"

/** Built-in HLS origin: stores the uploads of encoders. */
export class LiveIngest extends Effect.Service<LiveIngest>()("@berth/LiveIngest", {
  effect: Effect.gen(function* () {
    const repository = yield* LiveStreamRepository
    const log = yield* AgentLog
    const transaction = yield* Transaction
    const digests = yield* Digests
    const holdUpload = yield* makeLiveSlots("uploads", (held) => held <= liveLimits.uploadsAtOnce)
    const storage = yield* Effect.cachedWithTTL(repository.listStorage, Duration.seconds(1))

    /** Returns the stream of the key and the file name; a wrong key is rejected before the name is validated. */
    const authorize = Effect.fnUntraced(function* (key: Redacted.Redacted, name: string) {
      const keyHash = hashSecret(digests, key)
      const stream = yield* Effect.mapError(yield* repository.findByKeyHash(keyHash), () => new LiveStreamNotFound())
      const fileName = yield* Effect.mapError(parseLiveFileName(name), () => new LiveFileNameInvalid())
      return { keyHash, stream, name: fileName }
    })

    const readPlaylist = (content: Uint8Array) =>
      content.length > liveLimits.maximumPlaylistBytes
        ? new LivePlaylistInvalid({ reason: `it is larger than ${liveLimits.maximumPlaylistBytes} bytes` })
        : Effect.map(parseLivePlaylist(content), ({ files, isEnded, text }) => ({
            content: new TextEncoder().encode(text),
            listed: files,
            endsBroadcast: isEnded
          }))

    const store = Effect.fnUntraced(function* (
      keyHash: string,
      { agentId, ownerId }: LiveStream,
      received: Pick<LiveUpload, "name" | "content" | "receivedAt">
    ) {
      const limited = { ...received, maximumBytes: computeStorageShare(yield* storage, ownerId) }
      const complete = isPlaylistName(received.name)
        ? { ...limited, ...(yield* readPlaylist(received.content)) }
        : { ...limited, listed: [], endsBroadcast: false }
      yield* transaction.run(
        Effect.gen(function* () {
          const { hasEnded, hasStarted } = yield* repository.store(keyHash, complete)
          if (hasStarted) yield* log.append(agentId, "info", broadcastStarted)
          if (hasEnded) yield* log.append(agentId, "info", broadcastEnded)
        })
      )
    })

    /** Stores an upload of an encoder. An incomplete body has no effect. */
    const upload = Effect.fn("LiveIngest.upload")(function* <E, R>(
      key: Redacted.Redacted,
      fileName: string,
      read: Effect.Effect<Uint8Array, E, R>
    ) {
      const receivedAt = yield* Clock.currentTimeNanos
      // Reads the body before the check of the key: ffmpeg closes the connection after the last byte, and unread bytes
      // are lost.
      const body = yield* Effect.forkScoped(Effect.interruptible(read))
      const { keyHash, name, stream } = yield* authorize(key, fileName)
      yield* Effect.annotateCurrentSpan({ "agent.id": stream.agentId })
      yield* holdUpload(stream.id)
      yield* store(keyHash, stream, { name, receivedAt, content: yield* Fiber.join(body) })
    }, Effect.scoped)

    /** Deletes a file that is no longer in the encoder's playlist. Idempotent. */
    const removeFile = Effect.fn("LiveIngest.removeFile")(function* (key: Redacted.Redacted, fileName: string) {
      const { name, stream } = yield* authorize(key, fileName)
      yield* repository.removeFile(stream.id, name)
    })

    /** Records the end of broadcasts whose encoder stopped without notice. */
    const endIdleBroadcasts = Effect.fn("LiveIngest.endIdleBroadcasts")(function* () {
      yield* transaction.run(
        Effect.flatMap(repository.endIdle(broadcastIdleTimeout), (agentIds) =>
          Effect.forEach(agentIds, (agentId) => log.append(agentId, "info", broadcastEnded), { discard: true })
        )
      )
    })

    const pruneFiles = repository.pruneFiles(liveLimits.retention)

    return { upload, removeFile, endIdleBroadcasts, pruneFiles }
  })
}) {}
