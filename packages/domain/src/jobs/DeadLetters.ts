import { Data, Duration, Effect, Option } from "effect"
import { DependencyUnavailable } from "../shared/DependencyUnavailable.ts"
import { QueueName } from "./JobKind.ts"
import { JobQueue, type QueueUnavailable } from "./JobQueue.ts"

/** No job with this id has failed for good. */
export class DeadLetterNotFound extends Data.TaggedError("DeadLetterNotFound")<object> {}

/** What an operator does about jobs that failed for good: look, and once their cause is mended let them run again. */
export class DeadLetters extends Effect.Service<DeadLetters>()("@berth/DeadLetters", {
  effect: Effect.gen(function* () {
    const jobs = yield* JobQueue

    const answered = <A>(asked: Effect.Effect<A, QueueUnavailable>) =>
      Effect.catchAll(asked, (cause) =>
        Effect.zipRight(
          Effect.logWarning("A queue does not answer", cause),
          Effect.die(
            new DependencyUnavailable({ dependency: "the store of the queues", retryAfter: Duration.seconds(5) })
          )
        )
      )

    /** The newest `limit` of a queue, or of each. */
    const list = Effect.fn("DeadLetters.list")(function* (queue: Option.Option<QueueName>, limit: number) {
      const queues = Option.match(queue, { onNone: () => QueueName.literals, onSome: (one) => [one] })
      const letters = yield* Effect.forEach(queues, (name) =>
        Effect.map(answered(jobs.deadLetters(name, limit)), (found) =>
          found.map((letter) => ({ ...letter, queue: name }))
        )
      )
      return letters.flat()
    })

    /** Puts a dead job back to work, whichever queue it died in; answers which. */
    const replay = Effect.fn("DeadLetters.replay")(function* (id: string) {
      for (const queue of QueueName.literals) {
        if (!(yield* answered(jobs.replay(queue, id)))) continue
        yield* Effect.logInfo("A dead job runs again").pipe(Effect.annotateLogs({ queue, jobId: id }))
        return queue
      }
      return yield* new DeadLetterNotFound()
    })

    return { list, replay }
  })
}) {}
