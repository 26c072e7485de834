import { acquireScoped } from "@berth/domain/shared/AcquireScoped"
import { ApiKeys } from "@berth/domain/accounts/api-keys/ApiKeys"
import { Instances } from "@berth/domain/instances/Instances"
import type { RequestProof } from "@berth/domain/sessions/Principal"
import { Sessions } from "@berth/domain/sessions/Sessions"
import type { UserId } from "@berth/domain/shared/UserId"
import { Duration, Effect, FiberRef, Option, Schedule, type Scope } from "effect"

interface Watched {
  readonly userId: UserId
  readonly proof: RequestProof
  readonly onEnd: () => void
}

/** Registers a callback for the revocation or expiry of a credential. */
export type WatchCredential = (onEnd: () => void) => Effect.Effect<unknown, never, Scope.Scope>

/**
 * Maximum delay from a revocation in any process to the end of the credential's connections, without that of the
 * statements.
 */
const pollInterval = Duration.seconds(1)

const distinct = <A>(all: ReadonlyArray<A>): ReadonlyArray<A> => [...new Set(all)]

/** Notifies open sockets and streams of the revocation or expiry of their credential. */
export class CredentialWatch extends Effect.Service<CredentialWatch>()("@berth/CredentialWatch", {
  scoped: Effect.gen(function* () {
    const sessions = yield* Sessions
    const apiKeys = yield* ApiKeys
    const instances = yield* Instances
    const watched = new Set<Watched>()

    /** Reads the credentials of all connections, with one statement per kind. */
    const revalidate = Effect.gen(function* () {
      if (watched.size === 0) return
      const all = [...watched]
      const [open, keys, marks] = yield* Effect.all([
        sessions.findActiveIds(distinct(all.flatMap(({ proof }) => (proof.by === "session" ? [proof.id] : [])))),
        apiKeys.findActiveIds(distinct(all.flatMap(({ proof }) => (proof.by === "api-key" ? [proof.id] : [])))),
        instances.listGatewayTokenVersions(
          distinct(all.flatMap(({ proof, userId }) => (proof.by === "token" ? [userId] : [])))
        )
      ])
      const isValid = ({ proof, userId }: Watched) => {
        switch (proof.by) {
          case "session":
            return open.has(proof.id)
          case "api-key":
            return keys.has(proof.id)
          case "token":
            return marks.get(userId) === proof.mark
        }
      }
      for (const watch of all) if (!isValid(watch)) watch.onEnd()
    }).pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("Credential revalidation failed", cause)),
      Effect.withTracerEnabled(false)
    )
    yield* Effect.forkScoped(Effect.interruptible(Effect.schedule(revalidate, Schedule.spaced(pollInterval))))

    /** Watches a credential until the scope closes. `onEnd` can be called more than once. */
    const watch =
      (userId: UserId, proof: RequestProof): WatchCredential =>
      (onEnd) =>
        acquireScoped(
          Effect.sync(() => {
            const watch = { userId, proof, onEnd }
            watched.add(watch)
            return watch
          }),
          (watch) => Effect.sync(() => watched.delete(watch))
        )

    return { watch, revalidate }
  })
}) {}

/** Watches the credential of the current request; none if its end does not affect streams. */
export const currentCredentialWatch = FiberRef.unsafeMake(Option.none<WatchCredential>())
