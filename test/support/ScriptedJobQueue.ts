import type { QueueName } from "@berth/domain/jobs/Job"
import { type DeadLetter, JobQueue, QueueIsUnavailable, type QueueCounts } from "@berth/domain/jobs/JobQueue"
import { Context, Effect, Layer, Ref } from "effect"

type Dead = Record<QueueName, ReadonlyArray<DeadLetter>>

/** What a test says lies in the queues. */
export class ScriptedJobQueue extends Context.Tag("@berth/test/ScriptedJobQueue")<
  ScriptedJobQueue,
  {
    readonly dead: Ref.Ref<Dead>
    /** Runs an effect while the queues' store does not answer. */
    readonly whileDown: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  }
>() {}

/** What is in a queue besides its dead letters. */
export const alive: Omit<QueueCounts, "failed"> = { waiting: 5, active: 2, delayed: 1, completed: 9 }

/** Queues that nobody works on, and whose dead letters are the test's. */
export const layer: Layer.Layer<JobQueue | ScriptedJobQueue> = Layer.effectContext(
  Effect.gen(function* () {
    const dead = yield* Ref.make<Dead>({ tasks: [], provision: [] })
    const isDown = yield* Ref.make(false)
    const ask = <A>(operation: string, answer: Effect.Effect<A>): Effect.Effect<A, QueueIsUnavailable> =>
      Effect.flatMap(isDown, (down) =>
        down ? Effect.fail(new QueueIsUnavailable({ operation, cause: "hunter2 is down" })) : answer
      )
    const queue = JobQueue.of({
      add: () => Effect.dieMessage("nobody adds here"),
      work: () => Effect.dieMessage("nobody works here"),
      counts: (name) =>
        ask(
          "count",
          Effect.map(dead, (all) => ({ ...alive, failed: all[name].length }))
        ),
      deadLetters: (name, limit) =>
        ask(
          "list",
          Effect.map(dead, (all) => all[name].slice(0, limit))
        ),
      replay: (name, id) =>
        ask(
          "replay",
          Ref.modify(dead, (all) => [
            all[name].some((letter) => letter.id === id),
            { ...all, [name]: all[name].filter((letter) => letter.id !== id) }
          ])
        )
    })
    return Context.make(JobQueue, queue).pipe(
      Context.add(ScriptedJobQueue, {
        dead,
        whileDown: (effect) =>
          Effect.acquireUseRelease(
            Ref.set(isDown, true),
            () => effect,
            () => Ref.set(isDown, false)
          )
      })
    )
  })
)
