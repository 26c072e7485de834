import { IdempotencyKeys } from "@berth/domain/limits/IdempotencyKeys"
import { Effect } from "effect"
import { runHourlyTask } from "../jobs/HourlyTask.ts"

/** An answer that is not given again any more is only in the way. */
export const layer = runHourlyTask(
  {
    span: "IdempotencyKeyRetention.run",
    task: "delete expired idempotency keys",
    done: "Expired idempotency keys were deleted",
    kind: "keys"
  },
  Effect.flatMap(IdempotencyKeys, ({ prune }) => prune)
)
