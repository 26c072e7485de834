import { Effect, type Scope } from "effect"

/** Maximum concurrent uploads of all addresses; each is in memory. */
const uploadsAtOnce = 32
/** Maximum large bodies in progress; each is in memory several times. */
const largeBodiesInWork = 8

interface UploadSlots {
  /** Waits for a slot of the address and of the listener; closing the scope returns it. */
  readonly acquire: (address: string) => Effect.Effect<void, never, Scope.Scope>
  /** Waits for a slot to process a received body; closing the scope returns it. */
  readonly acquireWork: Effect.Effect<void, never, Scope.Scope>
}

const hold = (semaphore: Effect.Semaphore) =>
  Effect.acquireRelease(Effect.interruptible(semaphore.take(1)), () => semaphore.release(1))

/**
 * Slots for bodies over the default limit. Slow uploads of some addresses take no slot of others, and no processing
 * slot.
 */
export const makeUploadSlots = (perAddress: number): UploadSlots => {
  const all = Effect.unsafeMakeSemaphore(uploadsAtOnce)
  const work = Effect.unsafeMakeSemaphore(largeBodiesInWork)
  const addresses = new Map<string, { readonly slots: Effect.Semaphore; users: number }>()

  const join = (address: string) => {
    const known = addresses.get(address) ?? { slots: Effect.unsafeMakeSemaphore(perAddress), users: 0 }
    known.users += 1
    addresses.set(address, known)
    return known
  }
  const leave = (address: string) =>
    Effect.sync(() => {
      const known = addresses.get(address)
      if (known === undefined) return
      known.users -= 1
      if (known.users === 0) addresses.delete(address)
    })

  return {
    acquire: (address) =>
      Effect.acquireRelease(
        Effect.sync(() => join(address)),
        () => leave(address)
      ).pipe(
        Effect.flatMap(({ slots }) => hold(slots)),
        Effect.zipRight(hold(all)),
        Effect.asVoid
      ),
    acquireWork: Effect.asVoid(hold(work))
  }
}
