import { MailedTokenRepository } from "@berth/domain/accounts/MailedTokenRepository"
import { DateTime, Duration, Effect, Layer } from "effect"
import { again } from "../jobs/Again.ts"

const every = Duration.hours(1)

/** An expired link opens nothing any more; its token is only in the way. */
export const sweep = Effect.gen(function* () {
  const mailed = yield* MailedTokenRepository
  const removed = yield* mailed.removeExpired(yield* DateTime.now)
  if (removed > 0) yield* Effect.logInfo("Expired links were forgotten").pipe(Effect.annotateLogs({ links: removed }))
}).pipe(Effect.withSpan("ExpiredMailedTokens.sweep"))

export const layer = Layer.scopedDiscard(again("forget expired links", every, sweep))
