import { SessionRepository } from "@berth/domain/sessions/SessionRepository"
import { DateTime, Duration, Effect, Layer } from "effect"
import { again } from "../jobs/Again.ts"

const every = Duration.hours(1)

/** An expired session opens nothing any more; it is only in the way. */
export const sweep = Effect.gen(function* () {
  const sessions = yield* SessionRepository
  const removed = yield* sessions.removeExpired(yield* DateTime.now)
  if (removed > 0)
    yield* Effect.logInfo("Expired sessions were deleted").pipe(Effect.annotateLogs({ sessions: removed }))
}).pipe(Effect.withSpan("ExpiredSessions.sweep"))

export const layer = Layer.scopedDiscard(again("delete expired sessions", every, sweep))
