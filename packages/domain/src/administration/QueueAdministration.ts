import { Effect } from "effect"
import { DeadLetters, orUnavailable } from "../jobs/DeadLetters.ts"
import { QueueName } from "../jobs/JobKind.ts"
import { JobQueue } from "../jobs/JobQueue.ts"
import { UserId } from "../shared/UserId.ts"
import { Audit } from "./audit/Audit.ts"
import type { Actor } from "./audit/AuditEntry.ts"

const targetOf = (queue: QueueName) => UserId.make(`queue:${queue}`)

/** Administration of queues. Every change is audited after it succeeds. */
export class QueueAdministration extends Effect.Service<QueueAdministration>()("@berth/QueueAdministration", {
  effect: Effect.gen(function* () {
    const audit = yield* Audit
    const jobs = yield* JobQueue
    const letters = yield* DeadLetters

    const list = Effect.forEach(
      QueueName.literals,
      (name) =>
        Effect.gen(function* () {
          const { failed, ...counts } = yield* orUnavailable(jobs.counts(name))
          return { name, paused: yield* orUnavailable(jobs.isPaused(name)), ...counts, dead: failed }
        }),
      { concurrency: "unbounded" }
    ).pipe(Effect.withSpan("QueueAdministration.list"))

    /** A paused queue starts no job in any worker. Idempotent. */
    const pause = Effect.fn("QueueAdministration.pause")(function* (actor: Actor, queue: QueueName, reason: string) {
      yield* orUnavailable(jobs.pause(queue))
      yield* audit.record(actor, "queue.pause", targetOf(queue), { reason })
    })

    const resume = Effect.fn("QueueAdministration.resume")(function* (actor: Actor, queue: QueueName, reason: string) {
      yield* orUnavailable(jobs.resume(queue))
      yield* audit.record(actor, "queue.resume", targetOf(queue), { reason })
    })

    const listDead = letters.list

    const replay = Effect.fn("QueueAdministration.replay")(function* (actor: Actor, id: string, reason: string) {
      const queue = yield* letters.replay(id)
      yield* audit.record(actor, "queue.replay", targetOf(queue), { reason, after: { jobId: id } })
      return queue
    })

    const discard = Effect.fn("QueueAdministration.discard")(function* (actor: Actor, id: string, reason: string) {
      const queue = yield* letters.discard(id)
      yield* audit.record(actor, "queue.discard", targetOf(queue), { reason, before: { jobId: id } })
      return queue
    })

    return { list, pause, resume, listDead, replay, discard }
  })
}) {}
