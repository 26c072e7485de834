import { Cache, Clock, Duration, Effect, Fiber, Option, type Redacted, Ref, Schedule } from "effect"
import { AgentLog } from "../../instances/AgentLog.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Digests, hashSecret } from "../../secrets/Digests.ts"
import { isPlaylistName, type LiveFileName, parseLiveFileName } from "./LiveFile.ts"
import {
  parseLivePlaylist,
  decideReload,
  findTargetDuration,
  type ReloadTarget,
  withholdMissingTail
} from "./LivePlaylist.ts"
import { computeStorageShare, mayTakeMore } from "./FairShare.ts"
import {
  broadcastEnded,
  broadcastIdleTimeout,
  broadcastStarted,
  type LiveStream,
  liveLimits,
  LiveStreamId
} from "./LiveStream.ts"
import {
  LiveFileNameInvalid,
  LiveLimitReached,
  LivePlaylistInvalid,
  LiveReloadInvalid,
  LiveReloadTimedOut,
  LiveStreamNotFound
} from "./LiveStreamErrors.ts"
import { type LiveFile, LiveStreamRepository, type LiveUpload } from "./LiveStreamRepository.ts"
import { takeBandwidth, unusedBandwidth } from "./PlaybackBandwidth.ts"

/** Maximum files cached by a process, for simultaneous viewers. */
const cachedFiles = 24
const cachedFileLifetime = Duration.seconds(2)
const cachedPlaylistLifetime = Duration.millis(200)
const reloadPoll = Duration.millis(250)
/** Multiples of the target duration (RFC 8216bis, section 6.2.5.2). */
const reloadTargets = 3
const longestReload = Duration.seconds(30)

/** Count per stream. */
type Counts = ReadonlyMap<LiveStreamId, number>

/** Built-in HLS origin: encoders upload files and players fetch them, from any process. */
export class LiveOrigin extends Effect.Service<LiveOrigin>()("@berth/LiveOrigin", {
  effect: Effect.gen(function* () {
    const repository = yield* LiveStreamRepository
    const log = yield* AgentLog
    const transaction = yield* Transaction
    const digests = yield* Digests
    const uploads = yield* Ref.make<Counts>(new Map())
    const reloads = yield* Ref.make<Counts>(new Map())
    const bandwidth = yield* Ref.make(unusedBandwidth)
    const storage = yield* Effect.cachedWithTTL(repository.listStorage, Duration.seconds(1))

    /** Returns the stream of the key and the file name; a wrong key is rejected before the name is validated. */
    const authorize = (key: Redacted.Redacted, name: string) =>
      Effect.gen(function* () {
        const keyHash = hashSecret(digests, key)
        const stream = yield* Effect.mapError(yield* repository.findByKeyHash(keyHash), () => new LiveStreamNotFound())
        const fileName = yield* Effect.mapError(parseLiveFileName(name), () => new LiveFileNameInvalid())
        return { keyHash, stream, name: fileName }
      })

    const count = (counts: Ref.Ref<Counts>, id: LiveStreamId, change: 1 | -1) =>
      Ref.updateAndGet(counts, (all) => {
        const next = new Map(all)
        const held = (all.get(id) ?? 0) + change
        if (held > 0) next.set(id, held)
        else next.delete(id)
        return next
      })

    /** Increments the stream's count until the scope closes. */
    const hold = (
      counts: Ref.Ref<Counts>,
      id: LiveStreamId,
      limit: LiveLimitReached["limit"],
      isAllowed: (held: number, all: Counts) => boolean
    ) =>
      Effect.acquireRelease(count(counts, id, 1), () => count(counts, id, -1)).pipe(
        Effect.filterOrFail(
          (all) => isAllowed(all.get(id) ?? 0, all),
          () => new LiveLimitReached({ limit, retryAfter: Duration.seconds(1) })
        )
      )

    const holdUpload = (id: LiveStreamId) => hold(uploads, id, "uploads", (held) => held <= liveLimits.uploadsAtOnce)

    const holdReload = (id: LiveStreamId) =>
      hold(reloads, id, "reloads", (held, all) =>
        mayTakeMore({
          capacity: liveLimits.waitingReloads,
          held: held - 1,
          holders: all.size,
          total: [...all.values()].reduce((sum, count) => sum + count, 0) - 1
        })
      )

    const readPlaylist = (content: Uint8Array) =>
      content.length > liveLimits.maximumPlaylistBytes
        ? new LivePlaylistInvalid({ reason: `it is larger than ${liveLimits.maximumPlaylistBytes} bytes` })
        : Effect.map(parseLivePlaylist(content), ({ files, isEnded, text }) => ({
            content: new TextEncoder().encode(text),
            listed: files,
            endsBroadcast: isEnded
          }))

    const store = (
      keyHash: string,
      { agentId, ownerId }: LiveStream,
      received: Pick<LiveUpload, "name" | "content" | "receivedAt">
    ) =>
      Effect.gen(function* () {
        const limited = { ...received, maximumBytes: computeStorageShare(yield* storage, ownerId) }
        const upload = isPlaylistName(received.name)
          ? { ...limited, ...(yield* readPlaylist(received.content)) }
          : { ...limited, listed: [], endsBroadcast: false }
        yield* transaction.run(
          Effect.gen(function* () {
            const { hasEnded, hasStarted } = yield* repository.store(keyHash, upload)
            if (hasStarted) yield* log.append(agentId, "info", broadcastStarted)
            if (hasEnded) yield* log.append(agentId, "info", broadcastEnded)
          })
        )
      })

    /** Stores an upload of an encoder. An incomplete body has no effect. */
    const ingest = Effect.fn("LiveOrigin.ingest")(function* <E, R>(
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
    const removeFile = Effect.fn("LiveOrigin.removeFile")(function* (key: Redacted.Redacted, fileName: string) {
      const { name, stream } = yield* authorize(key, fileName)
      yield* repository.removeFile(stream.id, name)
    })

    const decoder = new TextDecoder()
    const loadFile = (id: LiveStreamId, name: LiveFileName) =>
      Effect.gen(function* () {
        const file = yield* repository.readFile(id, name)
        if (Option.isNone(file) || !isPlaylistName(name)) return file
        const text = withholdMissingTail(decoder.decode(file.value.content), yield* repository.listFileNames(id))
        return Option.some<LiveFile>({ ...file.value, content: new TextEncoder().encode(text) })
      })

    // One query for all simultaneous viewers.
    const files = yield* Cache.makeWith({
      capacity: cachedFiles,
      lookup: (path: string) => {
        const [id = "", name = ""] = path.split("/")
        return Effect.flatMap(Effect.option(parseLiveFileName(name)), (fileName) =>
          Option.isNone(fileName)
            ? Effect.succeedNone
            : Effect.map(loadFile(LiveStreamId.make(id), fileName.value), (file) =>
                Option.map(file, (content) => ({ ...content, isPlaylist: isPlaylistName(fileName.value) }))
              )
        )
      },
      timeToLive: (exit) =>
        exit._tag === "Success" && Option.exists(exit.value, ({ isPlaylist }) => !isPlaylist)
          ? cachedFileLifetime
          : cachedPlaylistLifetime
    })

    /** Takes bytes from the bandwidths of the stream and of the process, unless either is exhausted. */
    const takeBytes = (id: LiveStreamId, bytes: number) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Ref.modify(bandwidth, (left) => {
          const rest = takeBandwidth(left, id, bytes, now)
          return [Option.isSome(rest), Option.getOrElse(rest, () => left)]
        })
      ).pipe(
        Effect.filterOrFail(
          (isTaken) => isTaken,
          () => new LiveLimitReached({ limit: "playback", retryAfter: Duration.seconds(1) })
        ),
        Effect.asVoid
      )

    const find = (id: LiveStreamId, name: LiveFileName) =>
      Effect.flatMap(
        files.get(`${id}/${name}`),
        Option.match({ onNone: () => new LiveStreamNotFound(), onSome: Effect.succeed })
      )

    /** Waits until the playlist contains the segment or part. */
    const awaitReload = (id: LiveStreamId, name: LiveFileName, target: ReloadTarget) =>
      Effect.gen(function* () {
        const text = decoder.decode((yield* find(id, name)).content)
        const decision = decideReload(text, target)
        if (decision === "reject")
          return yield* new LiveReloadInvalid({ reason: "the segment is too far ahead of the playlist" })
        if (decision === "respond") return
        const atMost = Duration.min(Duration.seconds(reloadTargets * findTargetDuration(text)), longestReload)
        yield* find(id, name).pipe(
          Effect.repeat({
            until: ({ content }) => decideReload(decoder.decode(content), target) !== "wait",
            schedule: Schedule.spaced(reloadPoll)
          }),
          Effect.interruptible,
          Effect.timeoutFail({ duration: atMost, onTimeout: () => new LiveReloadTimedOut() }),
          (waiting) => Effect.zipRight(holdReload(id), waiting),
          Effect.scoped
        )
      })

    /** Returns a file for a player. A playlist with a reload target is returned after it contains the target. */
    const play = Effect.fn("LiveOrigin.play")(function* (
      id: LiveStreamId,
      fileName: string,
      target: Option.Option<ReloadTarget>
    ) {
      const name = yield* Effect.mapError(parseLiveFileName(fileName), () => new LiveStreamNotFound())
      // Before the file is read, so that a flood of requests costs no queries.
      yield* takeBytes(id, 0)
      if (Option.isSome(target) && isPlaylistName(name)) yield* awaitReload(id, name, target.value)
      const file = yield* find(id, name)
      return { ...file, name, takeBytes: (bytes: number) => takeBytes(id, bytes) }
    })

    /** Records the end of broadcasts whose encoder stopped without notice. */
    const endIdleBroadcasts = Effect.fn("LiveOrigin.endIdleBroadcasts")(function* () {
      yield* transaction.run(
        Effect.flatMap(repository.endIdle(broadcastIdleTimeout), (agentIds) =>
          Effect.forEach(agentIds, (agentId) => log.append(agentId, "info", broadcastEnded), { discard: true })
        )
      )
    })

    const pruneFiles = repository.pruneFiles(liveLimits.retention)

    return { ingest, removeFile, play, endIdleBroadcasts, pruneFiles }
  })
}) {}
