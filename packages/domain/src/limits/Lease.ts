import { Duration, Effect, Fiber, Schedule, type Scope } from "effect"
import { acquireScoped } from "../shared/AcquireScoped.ts"

/** Lifetime of a lease without renewal, by the store's clock. */
export const leaseDuration = Duration.seconds(15)
const renewalInterval = Duration.seconds(5)
/** Maximum wait of a request for another holder; longer than the lease of a dead process. */
export const leaseWaitLimit = Duration.seconds(20)

/** Renews a lease until interrupted, even in an uninterruptible region. A failed renewal is retried in time. */
export const keepRenewed = <R>(renew: Effect.Effect<unknown, never, R>): Effect.Effect<never, never, R> =>
  renew.pipe(
    Effect.catchAllCause((cause) => Effect.logWarning("Lease not renewed", cause)),
    Effect.schedule(Schedule.spaced(renewalInterval)),
    Effect.zipRight(Effect.never),
    Effect.interruptible
  )

/** Renews a lease while `work` runs. */
export const whileRenewed =
  <R2>(renew: Effect.Effect<unknown, never, R2>) =>
  <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | R2> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.fork(keepRenewed(renew)), (renewal) =>
        Effect.ensuring(restore(work), Fiber.interrupt(renewal))
      )
    )

/** Renews the leases of a process together. The returned effect holds a lease until its scope closes. */
export const makeSharedRenewal = <K>(renew: (held: ReadonlyArray<K>) => Effect.Effect<unknown>) =>
  Effect.gen(function* () {
    const held = new Set<K>()
    yield* Effect.forkScoped(
      keepRenewed(
        Effect.suspend(() => (held.size === 0 ? Effect.void : Effect.withTracerEnabled(renew([...held]), false)))
      )
    )
    return (key: K): Effect.Effect<void, never, Scope.Scope> =>
      Effect.asVoid(
        acquireScoped(
          Effect.sync(() => held.add(key)),
          () => Effect.sync(() => held.delete(key))
        )
      )
  })

/**
 * Subscribes to the end of a lease until the scope closes. The returned effect waits for it, at most for a poll
 * interval.
 */
export type LeaseSubscription = Effect.Effect<Effect.Effect<void>, never, Scope.Scope>

type InProgress<A> = Extract<A, { readonly _tag: "InProgress" }>
const isInProgress = <A extends { readonly _tag: string }>(claimed: A): claimed is InProgress<A> =>
  claimed._tag === "InProgress"

/** Repeats `claim` until no other holder has the lease; returns `InProgress` if one still has it after `atMost`. */
export const awaitClaim = <A extends { readonly _tag: string }, E, R>(
  claim: Effect.Effect<A, E, R>,
  options: {
    readonly subscribe: (held: InProgress<A>) => LeaseSubscription
    readonly atMost: Duration.DurationInput
  }
): Effect.Effect<A, E, Exclude<R, Scope.Scope>> =>
  Effect.gen(function* () {
    const first = yield* claim
    if (!isInProgress(first)) return first
    const ended = yield* options.subscribe(first)
    return yield* claim.pipe(
      Effect.tap((claimed) => (isInProgress(claimed) ? ended : Effect.void)),
      Effect.repeat({ while: isInProgress, schedule: Schedule.upTo(Schedule.identity<A>(), options.atMost) })
    )
  }).pipe(Effect.scoped)
