import type { InstanceExit, RunningInstance } from "@berth/domain/instances/InstanceDriver"
import type { UserId } from "@berth/domain/shared/UserId"
import { Effect, Option, PubSub, Stream } from "effect"
import * as InstanceLogFile from "./InstanceLogFile.ts"
import * as OwnerLocks from "@berth/domain/shared/OwnerLocks"

/** Running instances of a driver, their exits, and one lock per owner. */
export const make = <Running extends { readonly instance: RunningInstance }>(
  logOf: (running: Running) => InstanceLogFile.InstanceLogFiles
) =>
  Effect.gen(function* () {
    const running = new Map<UserId, Running>()
    const exits = yield* PubSub.unbounded<InstanceExit>()
    const withOwnerLock = yield* OwnerLocks.make

    const isRegistered = (entry: Running) => running.get(entry.instance.owner) === entry

    const publish = Effect.fnUntraced(function* (entry: Running, reason: string, hostLine: string) {
      const { owner } = entry.instance
      yield* Effect.logWarning("Instance exited").pipe(Effect.annotateLogs({ userId: owner, reason }))
      yield* InstanceLogFile.appendHostLine(logOf(entry), "error", hostLine)
      yield* PubSub.publish(exits, { owner, reason })
    })

    /** Ends an instance and publishes its exit. It stays registered until it has ended. */
    const end = (entry: Running, ended: Effect.Effect<unknown, Error>, reason: string, hostLine: string) =>
      Effect.gen(function* () {
        const { owner } = entry.instance
        if (!isRegistered(entry)) return
        running.delete(owner)
        yield* Effect.tapError(ended, () => Effect.sync(() => running.set(owner, entry)))
        yield* publish(entry, reason, hostLine)
      }).pipe(
        Effect.catchAll(({ message }) =>
          Effect.logWarning("Instance not ended").pipe(
            Effect.annotateLogs({ userId: entry.instance.owner, reason: message })
          )
        ),
        Effect.uninterruptible,
        (work) => withOwnerLock(entry.instance.owner, work)
      )

    return {
      exits: Stream.fromPubSub(exits),
      withOwnerLock,
      isRegistered,
      list: () => [...running.values()],
      get: (owner: UserId) => Option.fromNullable(running.get(owner)),
      register: (entry: Running): RunningInstance => {
        running.set(entry.instance.owner, entry)
        return entry.instance
      },
      /** Afterwards, the exit of the owner's instance is not published. */
      unregister: (owner: UserId) => void running.delete(owner),
      /** The instance must be unregistered first. */
      publishExit: (entry: Running, reason: string) => publish(entry, reason, `The instance exited: ${reason}`),
      /** For an exited instance with remains to end. */
      endExited: (entry: Running, ended: Effect.Effect<unknown, Error>, reason: string) =>
        end(entry, ended, reason, `The instance exited: ${reason}`),
      /** For an instance that must not continue. */
      endWithReason: (entry: Running, ended: Effect.Effect<unknown, Error>, reason: string) =>
        end(entry, ended, reason, `The instance was ended: ${reason}.`)
    }
  })
