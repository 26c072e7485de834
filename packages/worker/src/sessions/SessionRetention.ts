import { SessionRepository } from "@berth/domain/sessions/SessionRepository"
import { DateTime, Effect } from "effect"
import { runHourlyTask } from "../jobs/HourlyTask.ts"

/** An expired session opens nothing any more; it is only in the way. */
export const layer = runHourlyTask(
  {
    span: "SessionRetention.run",
    task: "delete expired sessions",
    done: "Expired sessions were deleted",
    kind: "sessions"
  },
  Effect.flatMap(Effect.all([SessionRepository, DateTime.now]), ([repository, now]) => repository.removeExpired(now))
)
