import { AnswerStreams } from "@berth/domain/interaction/answers/AnswerStreams"
import { DateTime, Duration, Effect, Layer } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

const every = Duration.seconds(30)

export interface AnswerEventRetentionOptions {
  /** Time after an answer's end in which it can be resumed. */
  readonly streamRetention: Duration.Duration
}

export const removeExpiredAnswerEvents = ({ streamRetention }: AnswerEventRetentionOptions) =>
  Effect.gen(function* () {
    const streams = yield* AnswerStreams
    yield* streams.prune(DateTime.subtractDuration(yield* DateTime.now, streamRetention))
  }).pipe(Effect.withTracerEnabled(false))

export const layer = (options: AnswerEventRetentionOptions) =>
  Layer.scopedDiscard(runRecurringTask("delete expired answer events", every, removeExpiredAnswerEvents(options)))
