import { Duration, Effect, Ref } from "effect"
import type { LiveStreamId } from "./LiveStream.ts"
import { LiveLimitReached } from "./LiveStreamErrors.ts"

type Counts = ReadonlyMap<LiveStreamId, number>

/** Makes an effect that counts a use of a stream in this process until the scope closes. */
export const makeLiveSlots = (limit: LiveLimitReached["limit"], isAllowed: (held: number, all: Counts) => boolean) =>
  Effect.map(Ref.make<Counts>(new Map()), (counts) => {
    const change = (id: LiveStreamId, by: 1 | -1) =>
      Ref.updateAndGet(counts, (all) => {
        const next = new Map(all)
        const held = (all.get(id) ?? 0) + by
        if (held > 0) next.set(id, held)
        else next.delete(id)
        return next
      })
    return (id: LiveStreamId) =>
      Effect.acquireRelease(change(id, 1), () => change(id, -1)).pipe(
        Effect.filterOrFail(
          (all) => isAllowed(all.get(id) ?? 0, all),
          () => new LiveLimitReached({ limit, retryAfter: Duration.seconds(1) })
        )
      )
  })
