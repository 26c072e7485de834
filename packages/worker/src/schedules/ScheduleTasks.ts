import { ScheduleTicks } from "@berth/domain/schedules/ScheduleTicks"
import { AgentRunRepository } from "@berth/domain/schedules/runs/AgentRunRepository"
import { Effect, Layer } from "effect"
import { runLoop, runRecurringTask } from "../jobs/RecurringTask.ts"

/** Starts due runs of schedules, from any number of workers. */
export const layer = Layer.scopedDiscard(
  Effect.gen(function* () {
    const ticks = yield* ScheduleTicks
    const runs = yield* AgentRunRepository
    const round = Effect.flatMap(ticks.fire, (hasMore) => (hasMore ? Effect.void : ticks.awaitDue))
    yield* runLoop("Schedules not read, retrying", Effect.withTracerEnabled(round, false))
    yield* runRecurringTask("lost runs", "10 minutes", runs.failLost)
  })
)
