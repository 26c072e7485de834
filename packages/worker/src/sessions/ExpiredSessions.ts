import { SessionRepository } from "@berth/domain/sessions/SessionRepository"
import { DateTime, Effect } from "effect"
import { hourly } from "../jobs/Hourly.ts"

/** An expired session opens nothing any more; it is only in the way. */
export const layer = hourly(
  {
    span: "ExpiredSessions.sweep",
    task: "delete expired sessions",
    done: "Expired sessions were deleted",
    kind: "sessions"
  },
  Effect.flatMap(Effect.all([SessionRepository, DateTime.now]), ([repository, now]) => repository.removeExpired(now))
)
