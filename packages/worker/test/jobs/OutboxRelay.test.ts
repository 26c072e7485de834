import type { NewJob } from "@berth/domain/jobs/JobQueue"
import { JobQueue, QueueUnavailable } from "@berth/domain/jobs/JobQueue"
import { Outbox, type OutboxEntry } from "@berth/domain/jobs/Outbox"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Layer, Queue, Ref, TestClock } from "effect"
import * as OutboxRelay from "../../src/jobs/OutboxRelay.ts"

const entry = (n: number): OutboxEntry => ({
  id: `job_${n}`,
  queue: "provision",
  name: "new-agent",
  payload: { agentId: `agt_${n}` },
  trace: null
})

/** A relay with an outbox and a queue in memory. */
const openRelay = Effect.gen(function* () {
  const waiting = yield* Ref.make<ReadonlyArray<OutboxEntry>>([])
  const added = yield* Queue.unbounded<NewJob>()
  const outage = yield* Ref.make<"none" | "queue" | "database">("none")
  const rounds = yield* Ref.make(0)
  const waits = yield* Ref.make(0)
  const appended = yield* Queue.unbounded<void>()
  const unsettled = yield* Ref.make<ReadonlyArray<OutboxEntry>>([])

  const outbox = Layer.mock(Outbox, {
    append: () => Effect.dieMessage("not appended"),
    relay: (limit, publish) =>
      Effect.gen(function* () {
        yield* Ref.update(rounds, (n) => n + 1)
        if ((yield* outage) === "database") return yield* Effect.dieMessage("the database is gone")
        const taken = (yield* waiting).slice(0, limit)
        yield* Effect.forEach(taken, publish)
        yield* Ref.update(waiting, (all) => all.slice(taken.length))
        return taken.length
      }),
    listUnsettled: (after, limit) =>
      Effect.map(unsettled, (entries) => entries.filter(({ id }) => id > after).slice(0, limit)),
    awaitAppended: Effect.zipRight(
      Ref.update(waits, (n) => n + 1),
      Queue.take(appended)
    )
  })
  const queue = Layer.mock(JobQueue, {
    consume: () => Effect.dieMessage("not consumed"),
    add: (job) =>
      Effect.flatMap(outage, (what) =>
        what === "queue" ? new QueueUnavailable({ operation: "add", cause: "down" }) : Queue.offer(added, job)
      )
  })
  yield* Layer.build(OutboxRelay.layer.pipe(Layer.provide([outbox, queue])))
  const append = (...entries: ReadonlyArray<OutboxEntry>) =>
    Effect.zipRight(
      Ref.update(waiting, (all) => [...all, ...entries]),
      Queue.offer(appended, undefined)
    )
  return { added, append, rounds, outage, unsettled, waiting, waits }
})

describe("OutboxRelay", () => {
  it.scoped("OutboxRelay publishes entries under their ids, and then waits", () =>
    Effect.gen(function* () {
      const { added, append, rounds, waits } = yield* openRelay
      yield* append(entry(1))
      assert.deepStrictEqual(yield* Queue.take(added), entry(1))
      yield* append(entry(2))
      assert.deepStrictEqual(yield* Queue.take(added), entry(2))
      yield* TestClock.adjust("1 minute")
      assert.isAtMost((yield* rounds) - (yield* waits), 1)
    })
  )

  it.scoped("OutboxRelay continues without waiting while batches are full", () =>
    Effect.gen(function* () {
      const { added, append, waiting, waits } = yield* openRelay
      const before = yield* waits
      yield* append(...Array.from({ length: 120 }, (_, n) => entry(n)))
      const handed = yield* Queue.takeN(added, 120)
      assert.deepStrictEqual(
        [...handed].map(({ id }) => id),
        Array.from({ length: 120 }, (_, n) => `job_${n}`)
      )
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(yield* waiting, [])
      assert.isAtMost((yield* waits) - before, 2)
    })
  )

  it.scoped("OutboxRelay adds unsettled jobs again, since the store of the queue can lose them", () =>
    Effect.gen(function* () {
      const { added, unsettled } = yield* openRelay
      const entries = Array.from({ length: 120 }, (_, n) => entry(100 + n))
      yield* Ref.set(unsettled, entries)
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual([...(yield* Queue.takeN(added, 120))], entries)
      yield* Ref.set(unsettled, entries.slice(0, 50))
      yield* TestClock.adjust("5 minutes")
      assert.deepStrictEqual([...(yield* Queue.takeN(added, 50))], entries.slice(0, 50))
    })
  )

  for (const what of ["queue", "database"] as const)
    it.scoped(`OutboxRelay survives an outage of the ${what} with growing delays`, () =>
      Effect.gen(function* () {
        const { added, append, rounds, outage } = yield* openRelay
        yield* Ref.set(outage, what)
        yield* append(entry(1))
        yield* TestClock.adjust("1 second")
        const first = yield* rounds
        assert.isAtLeast(first, 2)
        yield* TestClock.adjust("1 minute")
        const second = yield* rounds
        yield* TestClock.adjust("1 minute")
        const third = yield* rounds
        // The longest pause is ten seconds, plus or minus a fifth.
        assert.isAtLeast(third - second, 4)
        assert.isAtMost(third - second, 8)
        assert.strictEqual(yield* Queue.size(added), 0)

        yield* Ref.set(outage, "none")
        yield* TestClock.adjust("12 seconds")
        assert.deepStrictEqual(yield* Queue.take(added), entry(1))

        // The pause is short again.
        yield* Ref.set(outage, what)
        yield* append(entry(2))
        yield* TestClock.adjust(0)
        yield* Ref.set(outage, "none")
        yield* TestClock.adjust(Duration.millis(300))
        assert.deepStrictEqual(yield* Queue.take(added), entry(2))
      })
    )
})
