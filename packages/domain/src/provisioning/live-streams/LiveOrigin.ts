import { Cache, Clock, Duration, Effect, Fiber, Option, type Redacted, Ref, Schedule } from "effect"
import { AgentLog } from "../../instances/AgentLog.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Digests, hashSecret } from "../../secrets/Digests.ts"
import { type ByteAllowance, refillAllowance } from "./ByteAllowance.ts"
import { isPlaylistName, type LiveFileName, parseLiveFileName } from "./LiveFile.ts"
import {
  parseLivePlaylist,
  decideReload,
  findTargetDuration,
  type ReloadTarget,
  withholdMissingTail
} from "./LivePlaylist.ts"
import { broadcastIdleTimeout, type LiveStream, liveLimits, LiveStreamId } from "./LiveStream.ts"
import {
  LiveFileNameInvalid,
  LiveLimitReached,
  LivePlaylistInvalid,
  LiveReloadInvalid,
  LiveReloadTimedOut,
  LiveStorageFull,
  LiveStreamNotFound
} from "./LiveStreamErrors.ts"
import { type LiveFile, LiveStreamRepository, type LiveUpload } from "./LiveStreamRepository.ts"

/** Files in memory of one process, for viewers that arrive together. */
const cachedFiles = 24
const cachedFileLifetime = Duration.seconds(2)
const cachedPlaylistLifetime = Duration.millis(200)
const reloadPoll = Duration.millis(250)
/** Multiples of the target duration (RFC 8216bis, section 6.2.5.2). */
const reloadTargets = 3
const longestReload = Duration.seconds(30)
const waitingReloads = 1000
const totalAllowance = "total"
const maximumAllowances = 1000

const started = "Live stream started"
const ended = "Live stream ended"

/** The built-in HLS origin: encoders upload files, players fetch them, any process serves both. */
export class LiveOrigin extends Effect.Service<LiveOrigin>()("@berth/LiveOrigin", {
  effect: Effect.gen(function* () {
    const repository = yield* LiveStreamRepository
    const log = yield* AgentLog
    const transaction = yield* Transaction
    const digests = yield* Digests
    const uploads = yield* Ref.make<ReadonlyMap<LiveStreamId, number>>(new Map())
    const allowances = yield* Ref.make<ReadonlyMap<string, ByteAllowance>>(new Map())
    const reloads = yield* Effect.makeSemaphore(waitingReloads)
    const storedBytes = yield* Effect.cachedWithTTL(repository.storedBytes, Duration.seconds(1))

    /** The stream of the key and the name of its file; a wrong key is refused before the name is looked at. */
    const authorize = (key: Redacted.Redacted, name: string) =>
      Effect.gen(function* () {
        const keyHash = hashSecret(digests, key)
        const stream = yield* Effect.mapError(yield* repository.findByKeyHash(keyHash), () => new LiveStreamNotFound())
        const fileName = yield* Effect.mapError(parseLiveFileName(name), () => new LiveFileNameInvalid())
        return { keyHash, stream, name: fileName }
      })

    const countUpload = (id: LiveStreamId, change: 1 | -1) =>
      Ref.modify(uploads, (all) => {
        const count = (all.get(id) ?? 0) + change
        const next = new Map(all)
        if (count > 0) next.set(id, count)
        else next.delete(id)
        return [count, next]
      })

    const holdUpload = (id: LiveStreamId) =>
      Effect.acquireRelease(countUpload(id, 1), () => countUpload(id, -1)).pipe(
        Effect.filterOrFail(
          (count) => count <= liveLimits.uploadsAtOnce,
          () => new LiveLimitReached({ limit: "uploads", retryAfter: Duration.seconds(1) })
        )
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
      { agentId }: LiveStream,
      received: Pick<LiveUpload, "name" | "content" | "receivedAt">
    ) =>
      Effect.gen(function* () {
        const upload = isPlaylistName(received.name)
          ? { ...received, ...(yield* readPlaylist(received.content)) }
          : { ...received, listed: [], endsBroadcast: false }
        if ((yield* storedBytes) > liveLimits.storedBytes)
          return yield* new LiveStorageFull({ retryAfter: Duration.seconds(10) })
        yield* transaction.run(
          Effect.gen(function* () {
            const { hasEnded, hasStarted } = yield* repository.store(keyHash, upload)
            if (hasStarted) yield* log.append(agentId, "info", started)
            if (hasEnded) yield* log.append(agentId, "info", ended)
          })
        )
      })

    /** Stores an upload of an encoder. An incomplete body leaves nothing. */
    const ingest = Effect.fn("LiveOrigin.ingest")(function* <E, R>(
      key: Redacted.Redacted,
      fileName: string,
      read: Effect.Effect<Uint8Array, E, R>
    ) {
      const receivedAt = yield* Clock.currentTimeNanos
      // Reading begins before the key is checked: ffmpeg closes the connection after the last byte, and unread bytes are lost.
      const body = yield* Effect.forkScoped(Effect.interruptible(read))
      const { keyHash, name, stream } = yield* authorize(key, fileName)
      yield* Effect.annotateCurrentSpan({ "agent.id": stream.agentId })
      yield* holdUpload(stream.id)
      yield* store(keyHash, stream, { name, receivedAt, content: yield* Fiber.join(body) })
    }, Effect.scoped)

    /** Deletes a file that left the encoder's playlist. Idempotent. */
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

    // One query for all viewers of a moment.
    const files = yield* Cache.makeWith({
      capacity: cachedFiles,
      lookup: (path: string) => {
        const [id = "", name = ""] = path.split("/")
        return Effect.flatMap(Effect.option(parseLiveFileName(name)), (known) =>
          Option.isNone(known)
            ? Effect.succeedNone
            : Effect.map(loadFile(LiveStreamId.make(id), known.value), (file) =>
                Option.map(file, (found) => ({ ...found, isPlaylist: isPlaylistName(known.value) }))
              )
        )
      },
      timeToLive: (exit) =>
        exit._tag === "Success" && Option.exists(exit.value, ({ isPlaylist }) => !isPlaylist)
          ? cachedFileLifetime
          : cachedPlaylistLifetime
    })

    const allowanceOf = (all: ReadonlyMap<string, ByteAllowance>, name: string, rate: number, now: number) =>
      refillAllowance(all.get(name) ?? { bytes: rate, at: now }, rate, now)

    const rateOf = (name: string) =>
      name === totalAllowance ? liveLimits.playbackBytesPerSecondInTotal : liveLimits.playbackBytesPerSecond

    /** Without those that are full again, so that names of unknown streams displace none in use. */
    const keepUsed = (all: ReadonlyMap<string, ByteAllowance>, now: number) =>
      new Map([...all].filter(([name]) => allowanceOf(all, name, rateOf(name), now).bytes < rateOf(name)))

    const rates = (id: LiveStreamId) => [id, totalAllowance].map((name) => [name, rateOf(name)] as const)

    /** Takes bytes of the stream's and of the process's bandwidth, unless one of them is used up. */
    const takeBytes = (id: LiveStreamId, bytes: number) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Ref.modify(allowances, (all) => {
          const known = all.size < maximumAllowances ? all : keepUsed(all, now)
          const refilled = rates(id).map(([name, rate]) => [name, allowanceOf(known, name, rate, now)] as const)
          const isUsedUp = refilled.some(([, allowance]) => allowance.bytes <= 0)
          const taken = refilled.map(
            ([name, { at, bytes: left }]) => [name, { at, bytes: isUsedUp ? left : left - bytes }] as const
          )
          return [isUsedUp, new Map([...known, ...taken])]
        })
      ).pipe(
        Effect.filterOrFail(
          (isUsedUp) => !isUsedUp,
          () => new LiveLimitReached({ limit: "playback", retryAfter: Duration.seconds(1) })
        ),
        Effect.asVoid
      )

    const find = (id: LiveStreamId, name: LiveFileName) =>
      Effect.flatMap(
        files.get(`${id}/${name}`),
        Option.match({ onNone: () => new LiveStreamNotFound(), onSome: Effect.succeed })
      )

    /** Waits until the playlist has the segment or part. */
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
          reloads.withPermitsIfAvailable(1),
          Effect.flatMap(Option.match({ onNone: () => new LiveReloadTimedOut(), onSome: () => Effect.void }))
        )
      })

    /** A file for a player. A playlist with a reload target is returned once it has the target. */
    const play = Effect.fn("LiveOrigin.play")(function* (
      id: LiveStreamId,
      fileName: string,
      target: Option.Option<ReloadTarget>
    ) {
      const name = yield* Effect.mapError(parseLiveFileName(fileName), () => new LiveStreamNotFound())
      // Before the file is read: a flood costs no queries.
      yield* takeBytes(id, 0)
      if (Option.isSome(target) && isPlaylistName(name)) yield* awaitReload(id, name, target.value)
      const file = yield* find(id, name)
      return { ...file, name, takeBytes: (bytes: number) => takeBytes(id, bytes) }
    })

    /** Records the end of broadcasts whose encoder stopped without saying so. */
    const endIdleBroadcasts = Effect.fn("LiveOrigin.endIdleBroadcasts")(function* () {
      yield* transaction.run(
        Effect.flatMap(repository.endIdle(broadcastIdleTimeout), (agentIds) =>
          Effect.forEach(agentIds, (agentId) => log.append(agentId, "info", ended), { discard: true })
        )
      )
    })

    const pruneFiles = repository.pruneFiles(liveLimits.retention)

    return { ingest, removeFile, play, endIdleBroadcasts, pruneFiles }
  })
}) {}
