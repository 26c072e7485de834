import { Cache, Clock, Duration, Effect, Option, Ref, Schedule } from "effect"
import { mayTakeMore } from "./FairShare.ts"
import { isPlaylistName, type LiveFileName, parseLiveFileName } from "./LiveFile.ts"
import { decideReload, findTargetDuration, type ReloadTarget, withholdMissingTail } from "./LivePlaylist.ts"
import { makeLiveSlots } from "./LiveSlots.ts"
import { liveLimits, LiveStreamId } from "./LiveStream.ts"
import { LiveLimitReached, LiveReloadInvalid, LiveReloadTimedOut, LiveStreamNotFound } from "./LiveStreamErrors.ts"
import { type LiveFile, LiveStreamRepository } from "./LiveStreamRepository.ts"
import { takeBandwidth, unusedBandwidth } from "./PlaybackBandwidth.ts"

/** Maximum files cached by a process, for simultaneous viewers. */
const cachedFiles = 24
const cachedFileLifetime = Duration.seconds(2)
const cachedPlaylistLifetime = Duration.millis(200)
const reloadPoll = Duration.millis(250)
/** Multiples of the target duration (RFC 8216bis, section 6.2.5.2). */
const reloadTargets = 3
const longestReload = Duration.seconds(30)

/** Built-in HLS origin: sends uploaded files to players, from any process. */
export class LivePlayback extends Effect.Service<LivePlayback>()("@berth/LivePlayback", {
  effect: Effect.gen(function* () {
    const repository = yield* LiveStreamRepository
    const bandwidth = yield* Ref.make(unusedBandwidth)
    const holdReload = yield* makeLiveSlots("reloads", (held, all) =>
      mayTakeMore({
        capacity: liveLimits.waitingReloads,
        held: held - 1,
        holders: all.size,
        total: [...all.values()].reduce((sum, count) => sum + count, 0) - 1
      })
    )

    const decoder = new TextDecoder()
    const loadFile = Effect.fnUntraced(function* (id: LiveStreamId, name: LiveFileName) {
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
    const awaitReload = Effect.fnUntraced(function* (id: LiveStreamId, name: LiveFileName, target: ReloadTarget) {
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
    const play = Effect.fn("LivePlayback.play")(function* (
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

    return { play }
  })
}) {}
