import { CardEventEffects } from "@berth/domain/billing/events/CardEventEffects"
import { Duration, Effect, Layer } from "effect"
import { again } from "../jobs/Again.ts"
import { hourly } from "../jobs/Hourly.ts"

const every = Duration.minutes(1)

const overdue = Layer.scopedDiscard(
  Effect.flatMap(CardEventEffects, (effects) =>
    again(
      "look after card events without effects",
      every,
      Effect.tap(effects.lookOver, (events) =>
        events > 0
          ? Effect.logWarning("Events of the card processor had no effects yet; their jobs were added again").pipe(
              Effect.annotateLogs({ events })
            )
          : Effect.void
      )
    )
  )
)

const old = hourly(
  {
    span: "OldCardEvents.sweep",
    task: "forget old card events",
    done: "Old card events were forgotten",
    kind: "events"
  },
  Effect.flatMap(CardEventEffects, (effects) => effects.tidy)
)

/** What has to be looked after of card events, besides the job of each. */
export const layer = Layer.merge(overdue, old)
