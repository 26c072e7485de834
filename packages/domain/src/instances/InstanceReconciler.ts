import { Array, Cause, Duration, Effect, Fiber, FiberMap, Option, Schedule, type Scope, Stream } from "effect"
import { withExportedSpan, withScopedSpan } from "../shared/SpanExport.ts"
import { mapChunkFailure } from "../ai/streams/ChunkSource.ts"
import type { AgentId } from "../shared/AgentId.ts"
import type { UserId } from "../shared/UserId.ts"
import { AgentRuntime, RuntimeUnreachable, type Turn, type TurnEvents, type TurnFailed } from "./AgentRuntime.ts"
import type { Instance } from "./Instance.ts"
import { CrashHistory, decideRestart } from "./CrashHistory.ts"
import { IdleInstances } from "./IdleInstances.ts"
import { InstanceContents } from "./InstanceContents.ts"
import { InstanceDriver, type InstanceExit, type InstanceHostUnavailable } from "./InstanceDriver.ts"
import { InstanceUnavailable } from "./InstanceErrors.ts"
import { InstanceLaunches, type LaunchEvent } from "./InstanceLaunches.ts"
import { InstanceRecords, shouldBeUp } from "./InstanceRecords.ts"
import { InstanceRepository } from "./InstanceRepository.ts"
import { InstanceShutdown, isStopRecorded } from "./InstanceShutdown.ts"

/** Delay after an internal failure, for example of the database. */
const retryInterval = Duration.seconds(5)

type ChatFailure = InstanceUnavailable | TurnFailed

const toUnavailable = <E>(error: E | RuntimeUnreachable): E | InstanceUnavailable =>
  error instanceof RuntimeUnreachable ? new InstanceUnavailable({ reason: error.reason }) : error

/**
 * Brings each instance to its desired state, restarts crashed instances, and forwards turns. Its state is only in the
 * rows and the processes, so another backend can take over.
 */
export class InstanceReconciler extends Effect.Service<InstanceReconciler>()("@berth/InstanceReconciler", {
  dependencies: [
    InstanceRecords.Default,
    InstanceLaunches.Default,
    InstanceShutdown.Default,
    IdleInstances.Default,
    CrashHistory.Default
  ],
  scoped: Effect.gen(function* () {
    const instances = yield* InstanceRepository
    const driver = yield* InstanceDriver
    const runtime = yield* AgentRuntime
    const contents = yield* InstanceContents
    const records = yield* InstanceRecords
    const launches = yield* InstanceLaunches
    const shutdown = yield* InstanceShutdown
    const idle = yield* IdleInstances
    const crashes = yield* CrashHistory
    const scope = yield* Effect.scope
    const restarts = yield* FiberMap.make<UserId>()

    /** Runs to completion even if the caller is interrupted. */
    const complete = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.flatMap(Effect.forkIn(Effect.interruptible(effect), scope), Fiber.join)

    /** If the host does not respond, the stop is already scheduled for reconciliation. */
    const stopSuspended = (userId: UserId) =>
      instances.serialized(userId, shutdown.suspend(userId)).pipe(
        Effect.catchTag("InstanceHostUnavailable", () => Effect.void),
        Effect.zipRight(Effect.logInfo("Instance of a suspended account stopped")),
        Effect.annotateLogs({ userId })
      )

    /**
     * Counts a crash and schedules the restart, or abandons the instance. Stops the instance of a suspended account.
     */
    const handleCrash = Effect.fn("InstanceReconciler.handleCrash")(function* (userId: UserId, reason: string) {
      if (yield* records.isSuspended(userId)) return yield* stopSuspended(userId)
      const count = yield* crashes.add(userId)
      const next = decideRestart(count)
      if (next === "give-up")
        // If the host is unavailable, the next crash abandons the instance.
        return yield* Effect.catchTag(shutdown.abandon(userId, reason), "InstanceHostUnavailable", () => Effect.void)
      yield* Effect.logWarning("Instance crashed, restart scheduled").pipe(
        Effect.annotateLogs({ userId, reason, crashes: count, restartAfter: Duration.format(next.restartAfter) })
      )
      yield* instances.update(userId, { startedAt: null })
      yield* FiberMap.run(restarts, userId, Effect.delay(reconcile(userId), next.restartAfter))
    })

    const reconcileLater = (userId: UserId) =>
      Effect.asVoid(FiberMap.run(restarts, userId, Effect.delay(reconcile(userId), retryInterval)))

    /** An unavailable host is retried; any other failure counts as a crash. */
    const handleFailure = (userId: UserId, { _tag, reason }: InstanceUnavailable | InstanceHostUnavailable) =>
      _tag === "InstanceHostUnavailable"
        ? Effect.logWarning("Instance host unavailable, start postponed").pipe(
            Effect.annotateLogs({ userId, reason }),
            Effect.zipRight(reconcileLater(userId))
          )
        : handleCrash(userId, reason)

    /** Brings one instance to its desired state; on failure, schedules the next attempt. */
    const reconcile = (userId: UserId): Effect.Effect<void> =>
      Effect.if(records.shouldBeUp(userId), {
        onTrue: () => Effect.asVoid(launches.revive(userId)),
        onFalse: () => shutdown.finishStop(userId)
      }).pipe(
        Effect.catchAll((error) => Effect.whenEffect(handleFailure(userId, error), records.shouldBeUp(userId))),
        Effect.catchAllDefect((defect) =>
          Effect.zipRight(Effect.logError("Reconciliation failed", defect), reconcileLater(userId))
        ),
        Effect.asVoid
      )

    /** Replaces a scheduled restart with a launch. A failed launch is followed by reconciliation. */
    const relaunch = (userId: UserId, event: LaunchEvent) =>
      FiberMap.remove(restarts, userId).pipe(
        Effect.zipRight(launches.launch(userId, event)),
        Effect.tapErrorCause((cause) => {
          if (Cause.isInterruptedOnly(cause)) return Effect.void
          const failure = Option.getOrUndefined(Cause.failureOption(cause))
          if (failure === undefined) return reconcileLater(userId)
          if (failure._tag === "InstanceNotFound") return Effect.void
          // The previous version runs again before the caller receives the failure.
          return event === "updated" || event === "repaired"
            ? reconcile(userId)
            : Effect.if(records.shouldBeUp(userId), {
                onTrue: () => handleFailure(userId, failure),
                onFalse: () => shutdown.finishStop(userId)
              })
        })
      )

    const start = Effect.fn("InstanceReconciler.start")((userId: UserId) => Effect.asVoid(relaunch(userId, "started")))
    const restart = Effect.fn("InstanceReconciler.restart")((userId: UserId) => relaunch(userId, "restarted"))
    const update = Effect.fn("InstanceReconciler.update")((userId: UserId) =>
      Effect.asVoid(relaunch(userId, "updated"))
    )
    const repair = Effect.fn("InstanceReconciler.repair")((userId: UserId) =>
      Effect.asVoid(relaunch(userId, "repaired"))
    )
    const stop = Effect.fn("InstanceReconciler.stop")((userId: UserId) =>
      Effect.zipRight(FiberMap.remove(restarts, userId), shutdown.stop(userId)).pipe(
        // The desired state is stored, so reconciliation completes the stop.
        Effect.tapDefect(() => reconcileLater(userId))
      )
    )

    const handleExit = ({ owner, reason }: InstanceExit) =>
      Effect.whenEffect(handleCrash(owner, reason), records.shouldBeUp(owner))

    yield* Effect.forkScoped(
      Stream.runForEach(driver.exits, (exit) =>
        Effect.catchAllCause(handleExit(exit), (cause) =>
          Effect.zipRight(Effect.logError("Instance exit not handled", cause), reconcileLater(exit.owner))
        )
      )
    )
    yield* Effect.forkScoped(Stream.runForEach(shutdown.unfinished, reconcileLater))
    const reconcileAll = (rows: ReadonlyArray<Instance>) =>
      Effect.forEach(rows, ({ userId }) => reconcile(userId), { concurrency: 4, discard: true })

    const untilSuccess = <A, E>(work: Effect.Effect<A, E>) =>
      work.pipe(
        Effect.sandbox,
        Effect.tapError((cause) => Effect.logError("Reconciliation at start failed", cause)),
        Effect.retry(Schedule.spaced(retryInterval))
      )

    yield* Effect.gen(function* () {
      const states = ["up", "asleep", "down"] as const
      const rows = yield* untilSuccess(Effect.forEach(states, instances.listDesired))
      const [others, required] = Array.partition(rows.flat(), shouldBeUp)
      // First, since callers wait for these.
      yield* reconcileAll(required)
      // Most of the others are asleep: one request lists the running ones.
      const running = new Set(yield* untilSuccess(driver.listRunning))
      yield* reconcileAll(others.filter((row) => running.has(row.userId) || !isStopRecorded(row)))
    }).pipe(Effect.forkScoped)

    const access = Effect.fnUntraced(function* (userId: UserId) {
      const mayRun = yield* idle.use(userId)
      const running = mayRun ? yield* driver.inspect(userId) : Option.none()
      return Option.isSome(running) && (yield* contents.isConfigured(running.value))
        ? { instance: running.value, token: yield* instances.ensureRuntimeToken(userId) }
        : yield* launches.revive(userId)
    }, withExportedSpan("InstanceReconciler.access"))

    /**
     * Forwards a turn to the owner's instance, which is first revived if it is down or not configured. A turn that
     * never reached an instance is sent once more, after a revival.
     */
    const chat = (
      userId: UserId,
      turn: Turn
    ): Effect.Effect<TurnEvents<ChatFailure>, ChatFailure | InstanceHostUnavailable, Scope.Scope> =>
      Effect.flatMap(access(userId), (instance) =>
        Effect.catchTag(runtime.chat(instance, turn), "RuntimeUnreachable", (error) =>
          error.unsent === true
            ? Effect.flatMap(launches.revive(userId), (revived) => runtime.chat(revived, turn))
            : Effect.fail(error)
        )
      ).pipe(
        Effect.mapBoth({
          onFailure: toUnavailable,
          onSuccess: (events) => mapChunkFailure(events, toUnavailable)
        }),
        withScopedSpan("InstanceReconciler.chat", { "user.id": userId, "agent.id": turn.agentId })
      )

    return {
      deploy: (agentId: AgentId) => complete(launches.deploy(agentId)),
      activate: (agentId: AgentId) => complete(launches.activate(agentId)),
      failDeployment: shutdown.failDeployment,
      start: (userId: UserId) => complete(start(userId)),
      stop: (userId: UserId) => complete(stop(userId)),
      restart: (userId: UserId) => complete(restart(userId)),
      update: (userId: UserId) => complete(update(userId)),
      repair: (userId: UserId) => complete(repair(userId)),
      reconfigure: (userId: UserId) => complete(launches.reconfigure(userId)),
      chat
    }
  })
}) {}
