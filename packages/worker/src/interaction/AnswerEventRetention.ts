import { AnswerStreams } from "@berth/domain/interaction/answers/AnswerStreams"
import { DateTime, Duration, Effect, Layer } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

const every = Duration.seconds(30)

export interface AnswerEventRetentionOptions {
  /** How long after its end an answer can be followed piece by piece. */
  readonly streamRetention: Duration.Duration
}

/** The record of an answer is its message; its pieces are only for who was cut off just now. */
export const removeExpiredAnswerEvents = ({ streamRetention }: AnswerEventRetentionOptions) =>
  Effect.gen(function* () {
    const streams = yield* AnswerStreams
    yield* streams.prune(DateTime.subtractDuration(yield* DateTime.now, streamRetention))
  }).pipe(Effect.withTracerEnabled(false))

export const layer = (options: AnswerEventRetentionOptions) =>
  Layer.scopedDiscard(
    runRecurringTask("delete the pieces of answers that have ended", every, removeExpiredAnswerEvents(options))
  )
