import type { QueueName } from "@berth/domain/jobs/JobKind"
import { type DeadLetter, JobQueue, QueueUnavailable, type QueueCounts } from "@berth/domain/jobs/JobQueue"
import { Context, Effect, Layer, Ref } from "effect"

type DeadLettersByQueue = Record<QueueName, ReadonlyArray<DeadLetter>>

/** Queue content set by a test. */
export class FakeJobQueue extends Context.Tag("@berth/test/FakeJobQueue")<
  FakeJobQueue,
  {
    readonly deadLetters: Ref.Ref<DeadLettersByQueue>
    /** Runs an effect while the queue store is down. */
    readonly withOutage: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>() {}

/** Counts of a queue without its dead letters. */
export const liveJobCounts: Omit<QueueCounts, "failed"> = { waiting: 5, active: 2, delayed: 1, completed: 9 }

/** Queues without consumers; the test sets their dead letters. */
export const layer: Layer.Layer<JobQueue | FakeJobQueue> = Layer.effectContext(
  Effect.gen(function* () {
    const dead = yield* Ref.make<DeadLettersByQueue>({ tasks: [], provision: [], mail: [], "card-events": [] })
    const isDown = yield* Ref.make(false)
    const ask = <A>(operation: string, answer: Effect.Effect<A>): Effect.Effect<A, QueueUnavailable> =>
      Effect.flatMap(isDown, (down) =>
        down ? Effect.fail(new QueueUnavailable({ operation, cause: "hunter2 is down" })) : answer
      )
    const paused = yield* Ref.make<ReadonlySet<QueueName>>(new Set())
    const take = (name: QueueName, id: string) =>
      Ref.modify(dead, (all) => [
        all[name].some((letter) => letter.id === id),
        { ...all, [name]: all[name].filter((letter) => letter.id !== id) }
      ])
    const queue = JobQueue.of({
      add: () => Effect.dieMessage("FakeJobQueue has no producers"),
      consume: () => Effect.dieMessage("FakeJobQueue has no consumers"),
      check: ask("check", Effect.void),
      counts: (name) =>
        ask(
          "count",
          Effect.map(dead, (all) => ({ ...liveJobCounts, failed: all[name].length }))
        ),
      deadLetters: (name, limit) =>
        ask(
          "list",
          Effect.map(dead, (all) => all[name].slice(0, limit))
        ),
      replay: (name, id) => ask("replay", take(name, id)),
      discard: (name, id) => ask("discard", take(name, id)),
      pause: (name) =>
        ask(
          "pause",
          Ref.update(paused, (before) => new Set([...before, name]))
        ),
      resume: (name) =>
        ask(
          "resume",
          Ref.update(paused, (before) => new Set([...before].filter((one) => one !== name)))
        ),
      isPaused: (name) =>
        ask(
          "read",
          Effect.map(paused, (all) => all.has(name))
        )
    })
    return Context.make(JobQueue, queue).pipe(
      Context.add(FakeJobQueue, {
        deadLetters: dead,
        withOutage: (effect) =>
          Effect.acquireUseRelease(
            Ref.set(isDown, true),
            () => effect,
            () => Ref.set(isDown, false)
          )
      })
    )
  })
)
