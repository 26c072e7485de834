import { ScheduleTicks } from "@berth/domain/schedules/ScheduleTicks"
import { AgentRunRepository } from "@berth/domain/schedules/runs/AgentRunRepository"
import { Effect, Layer, Schedule } from "effect"
import { runRecurringTask } from "../jobs/RecurringTask.ts"

const backOff = Schedule.exponential("200 millis").pipe(
  Schedule.union(Schedule.spaced("10 seconds")),
  Schedule.jittered
)

/** Starts due runs of schedules, from any number of workers. */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const ticks = yield* ScheduleTicks
    const runs = yield* AgentRunRepository
    const round = Effect.flatMap(ticks.fire, (hasMore) => (hasMore ? Effect.void : ticks.awaitDue))
    yield* round.pipe(
      Effect.sandbox,
      Effect.tapError((cause) => Effect.logWarning("Schedules not read, retrying", cause)),
      Effect.retry(backOff),
      Effect.forever,
      Effect.withTracerEnabled(false),
      Effect.forkScoped
    )
    yield* runRecurringTask("lost runs", "10 minutes", runs.failLost)
  })
)
