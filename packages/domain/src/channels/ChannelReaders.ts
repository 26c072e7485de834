import { Data, Effect, FiberMap, Option, Schedule, Stream } from "effect"
import { leaseDuration } from "../limits/Lease.ts"
import { Transaction } from "../persistence/Transaction.ts"
import type { ChannelConnection } from "./ChannelConnection.ts"
import { ChannelChecks, findHealthAfter } from "./ChannelChecks.ts"
import { type ChannelLease, ChannelConnections } from "./ChannelConnections.ts"
import type { ChannelReaderConflict, PlatformFailure } from "./ChannelErrors.ts"
import { ChannelInbox } from "./ChannelInbox.ts"
import { ChannelPlatforms, type ReceivedBatch } from "./ChannelPlatform.ts"
import { planReaders, type ReaderCandidate } from "./ReaderShares.ts"

/** Another worker holds the reader's lease, or the connection has changed. */
class ReaderLeaseLost extends Data.TaggedError("ReaderLeaseLost")<object> {}

/** Maximum readers of a worker, shared fairly among owners. A reader waits in one request or socket. */
const maximumReaders = 500

const renewal = Schedule.spaced("5 seconds")
/** Shorter outages do not affect the channel's health. */
const reconnect = Schedule.exponential("500 millis").pipe(Schedule.intersect(Schedule.recurs(5)))

/** Reads messages of bots without a webhook: one reader per bot over all workers, under a lease. */
export class ChannelReaders extends Effect.Service<ChannelReaders>()("@berth/ChannelReaders", {
  scoped: Effect.gen(function* () {
    const checks = yield* ChannelChecks
    const connections = yield* ChannelConnections
    const inbox = yield* ChannelInbox
    const platforms = yield* ChannelPlatforms
    const transaction = yield* Transaction
    const readers = yield* FiberMap.make<string>()
    /** Keyed as in `readers`; ended readers are removed at the next poll. */
    const running = new Map<string, ReaderCandidate>()
    let isFull = false
    const keyOf = ({ agentId, platform }: ReaderCandidate) => `${platform} ${agentId}`

    /** The cursor moves in the transaction that stores the messages. */
    const store = (connection: ChannelConnection, { claimId }: ChannelLease, { cursor, messages }: ReceivedBatch) =>
      transaction.run(
        Effect.gen(function* () {
          if (!(yield* connections.moveCursor(connection, claimId, cursor))) return yield* new ReaderLeaseLost()
          const current = yield* connections.find(connection)
          if (Option.isSome(current) && messages.length > 0) yield* inbox.accept(current.value, messages)
        })
      )

    const keepLease = (connection: ChannelConnection, { claimId }: ChannelLease) =>
      connections.renewReader(connection, claimId).pipe(
        Effect.filterOrFail(
          (isHeld) => isHeld,
          () => new ReaderLeaseLost()
        ),
        Effect.timeoutFail({ duration: leaseDuration, onTimeout: () => new ReaderLeaseLost() }),
        Effect.repeat(renewal),
        Effect.zipRight(Effect.never)
      )

    const reportFailure = (connection: ChannelConnection, failure: PlatformFailure | ChannelReaderConflict) =>
      checks.record(
        connection,
        failure._tag === "ChannelReaderConflict"
          ? { state: "unreachable", reason: failure.reason }
          : findHealthAfter(failure)
      )

    const read = Effect.fn("ChannelReaders.read")(function* (connection: ChannelConnection, lease: ChannelLease) {
      const adapter = platforms.get(connection.platform)
      const secrets = yield* connections.readSecrets(connection)
      if (adapter?.read === undefined || connection.bot === null || Option.isNone(secrets)) return
      const bot = { agentId: connection.agentId, bot: connection.bot, secrets: secrets.value }
      let { cursor } = lease
      const readOn = Effect.suspend(
        () =>
          adapter.read?.(bot, cursor).pipe(
            Stream.runForEach((batch) =>
              Effect.tap(store(connection, lease, batch), () =>
                Effect.sync(() => {
                  cursor = batch.cursor
                })
              )
            )
          ) ?? Effect.void
      )
      yield* readOn.pipe(
        Effect.retry({ while: ({ _tag }) => _tag === "PlatformUnreachable", schedule: reconnect }),
        Effect.catchTags({
          PlatformUnreachable: (failure) => reportFailure(connection, failure),
          PlatformThrottled: ({ retryAfter }) => Effect.sleep(retryAfter),
          PlatformRequestRefused: (failure) => reportFailure(connection, failure),
          ChannelTokenRefused: (failure) => reportFailure(connection, failure),
          ChannelReaderConflict: (failure) => reportFailure(connection, failure)
        })
      )
    })

    const run = (connection: ChannelConnection) =>
      Effect.acquireUseRelease(
        connections.claimReader(connection),
        Option.match({
          onNone: () => Effect.void,
          onSome: (lease) => Effect.raceFirst(read(connection, lease), keepLease(connection, lease))
        }),
        Option.match({
          onNone: () => Effect.void,
          onSome: ({ claimId }) => connections.releaseReader(connection, claimId)
        })
      ).pipe(
        Effect.catchTag("ReaderLeaseLost", () => Effect.logInfo("Channel reader's lease lost")),
        Effect.catchAllCause((cause) => Effect.logWarning("Channel reader failed", cause)),
        Effect.annotateLogs({ agentId: connection.agentId, platform: connection.platform })
      )

    /**
     * Starts readers for connections without one, within the shares of their owners. Readers end with the service's
     * scope.
     */
    const readUnread = Effect.gen(function* () {
      for (const key of running.keys()) if (!FiberMap.unsafeHas(readers, key)) running.delete(key)
      const unread = (yield* connections.listUnread(maximumReaders)).filter(
        (connection) => !running.has(keyOf(connection))
      )
      const { begin, end } = planReaders([...running.values()], unread, maximumReaders)
      if (!isFull && begin.length < unread.length)
        yield* Effect.logWarning("Channels wait for readers of another worker").pipe(
          Effect.annotateLogs({ readers: maximumReaders })
        )
      isFull = begin.length < unread.length
      yield* Effect.forEach(end, (reader) => FiberMap.remove(readers, keyOf(reader)), { discard: true })
      yield* Effect.forEach(
        begin,
        (connection) => {
          running.set(keyOf(connection), connection)
          return FiberMap.run(readers, keyOf(connection))(run(connection))
        },
        { discard: true }
      )
    })

    return { readUnread }
  })
}) {}
