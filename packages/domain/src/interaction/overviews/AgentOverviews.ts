import { DateTime, Duration, Effect, Queue, Schedule, Stream } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { AgentOverviewChange } from "./AgentOverview.ts"
import { type AgentMark, AgentOverviewRepository } from "./AgentOverviewRepository.ts"

const pollInterval = Duration.seconds(1)

/** Maximum streams of an owner in a process; a further stream ends the oldest. */
export const maximumOverviewStreams = 32

interface Watcher {
  readonly userId: UserId
  readonly changes: Queue.Queue<AgentOverviewChange>
  /** Null until the first change, which contains every agent. */
  marks: ReadonlyMap<AgentId, string> | null
}

/** Returns the agents whose marks changed or disappeared since the watcher's last change. */
const compareMarks = (known: ReadonlyMap<AgentId, string>, present: ReadonlyMap<AgentId, string>) => ({
  changed: [...present].flatMap(([id, mark]) => (known.get(id) === mark ? [] : [id])),
  removed: [...known.keys()].filter((id) => !present.has(id))
})

const groupByOwner = (marks: ReadonlyArray<AgentMark>, day: string) => {
  const groups = new Map<UserId, Map<AgentId, string>>()
  for (const { agentId, mark, ownerId } of marks) {
    const group = groups.get(ownerId) ?? new Map<AgentId, string>()
    groups.set(ownerId, group.set(agentId, `${mark} ${day}`))
  }
  return groups
}

/** Overviews of an owner's agents, and their changes. One poll per process serves all watchers. */
export class AgentOverviews extends Effect.Service<AgentOverviews>()("@berth/AgentOverviews", {
  scoped: Effect.gen(function* () {
    const repository = yield* AgentOverviewRepository
    const watchers = new Set<Watcher>()

    const readDayStart = Effect.map(DateTime.now, DateTime.startOf("day"))

    const list = Effect.fn("AgentOverviews.list")(function* (userId: UserId) {
      const marks = yield* repository.listMarks([userId])
      return marks.length === 0
        ? []
        : yield* repository.list(
            marks.map(({ agentId }) => agentId),
            yield* readDayStart
          )
    })

    const update = Effect.fnUntraced(function* (toUpdate: ReadonlyArray<Watcher>) {
      if (toUpdate.length === 0) return
      const dayStart = yield* readDayStart
      const marks = yield* repository.listMarks([...new Set(toUpdate.map(({ userId }) => userId))])
      const present = groupByOwner(marks, DateTime.formatIso(dayStart))
      const compared = toUpdate.map((watcher) => {
        const now = present.get(watcher.userId) ?? new Map<AgentId, string>()
        return { watcher, now, ...compareMarks(watcher.marks ?? new Map<AgentId, string>(), now) }
      })
      const changed = [...new Set(compared.flatMap((comparison) => comparison.changed))]
      const overviews = changed.length === 0 ? [] : yield* repository.list(changed, dayStart)
      for (const { changed: changedIds, now, removed, watcher } of compared) {
        const isFirst = watcher.marks === null
        watcher.marks = now
        const agents = overviews.filter(({ agentId }) => changedIds.includes(agentId))
        // The stream may have ended concurrently.
        if (isFirst || agents.length > 0 || removed.length > 0) watcher.changes.unsafeOffer({ agents, removed })
      }
    })

    yield* Effect.suspend(() => update([...watchers])).pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("Agent overviews not read", cause)),
      Effect.withTracerEnabled(false),
      Effect.schedule(Schedule.spaced(pollInterval)),
      Effect.interruptible,
      Effect.forkScoped
    )

    /** Returns all overviews, then their changes. */
    const watch = (userId: UserId): Stream.Stream<AgentOverviewChange> =>
      Stream.unwrapScoped(
        Effect.gen(function* () {
          const changes = yield* Effect.acquireRelease(Queue.unbounded<AgentOverviewChange>(), Queue.shutdown)
          const watcher: Watcher = { userId, changes, marks: null }
          yield* update([watcher])
          yield* Effect.acquireRelease(
            Effect.sync(() => watchers.add(watcher)),
            () => Effect.sync(() => watchers.delete(watcher))
          )
          const own = [...watchers].filter((other) => other.userId === userId)
          yield* Effect.forEach(own.slice(0, -maximumOverviewStreams), (oldest) => Queue.shutdown(oldest.changes))
          return Stream.fromQueue(changes)
        })
      )

    return { list, watch }
  })
}) {}
