import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { Duration, Effect, Layer } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"
import { runHourlyTask } from "../jobs/HourlyTask.ts"

const every = Duration.minutes(1)

const overdueEvents = Layer.scopedDiscard(
  Effect.flatMap(CardEventEffects, (effects) =>
    runRecurringTask(
      "look after card events without effects",
      every,
      Effect.tap(effects.retryOverdue, (events) =>
        events > 0
          ? Effect.logWarning("Events of the card processor had no effects yet; their jobs were added again").pipe(
              Effect.annotateLogs({ events })
            )
          : Effect.void
      )
    )
  )
)

const eventRetention = runHourlyTask(
  {
    span: "CardEventRetention.run",
    task: "forget old card events",
    done: "Old card events were forgotten",
    kind: "events"
  },
  Effect.flatMap(CardEventEffects, (effects) => effects.runRetention)
)

/** What has to be looked after of card events, besides the job of each. */
export const layer = Layer.merge(overdueEvents, eventRetention)
