import { Data, Duration, Effect, Option } from "effect"
import { DependencyUnavailable } from "../shared/DependencyUnavailable.ts"
import { QueueName } from "./JobKind.ts"
import { JobQueue, type QueueUnavailable } from "./JobQueue.ts"
import { Outbox } from "./Outbox.ts"

/** No job with this id has failed permanently. */
export class DeadLetterNotFound extends Data.TaggedError("DeadLetterNotFound")<object> {}

/** An outage of the store is a defect, which requests answer with 503. */
export const orUnavailable = <A>(call: Effect.Effect<A, QueueUnavailable>): Effect.Effect<A> =>
  Effect.catchAll(call, (cause) =>
    Effect.zipRight(
      Effect.logWarning("Queue does not respond", cause),
      Effect.die(new DependencyUnavailable({ dependency: "the queue store", retryAfter: Duration.seconds(5) }))
    )
  )

/** Lists, replays and discards jobs that failed permanently, for operators. */
export class DeadLetters extends Effect.Service<DeadLetters>()("@berth/DeadLetters", {
  effect: Effect.gen(function* () {
    const jobs = yield* JobQueue
    const outbox = yield* Outbox

    /** Returns the newest `limit` dead letters of a queue, or of each queue. */
    const list = Effect.fn("DeadLetters.list")(function* (queue: Option.Option<QueueName>, limit: number) {
      const queues = Option.match(queue, { onNone: () => QueueName.literals, onSome: (name) => [name] })
      const letters = yield* Effect.forEach(queues, (name) =>
        Effect.map(orUnavailable(jobs.deadLetters(name, limit)), (letters) =>
          letters.map((letter) => ({ ...letter, queue: name }))
        )
      )
      return letters.flat()
    })

    /** Replays a dead letter; returns its queue. */
    const replay = Effect.fn("DeadLetters.replay")(function* (id: string) {
      for (const queue of QueueName.literals) {
        if (!(yield* orUnavailable(jobs.replay(queue, id)))) continue
        yield* Effect.logInfo("Dead letter replayed").pipe(Effect.annotateLogs({ queue, jobId: id }))
        return queue
      }
      return yield* new DeadLetterNotFound()
    })

    /** Deletes a dead letter permanently; returns its queue. */
    const discard = Effect.fn("DeadLetters.discard")(function* (id: string) {
      for (const queue of QueueName.literals) {
        if (!(yield* orUnavailable(jobs.discard(queue, id)))) continue
        // A job that lost too many workers is not settled and would be added again.
        yield* outbox.settle(id)
        yield* Effect.logInfo("Dead letter discarded").pipe(Effect.annotateLogs({ queue, jobId: id }))
        return queue
      }
      return yield* new DeadLetterNotFound()
    })

    return { list, replay, discard }
  })
}) {}
