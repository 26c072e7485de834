import { OAuthStateRepository } from "@berth/domain/signin/OAuthStateRepository"
import { DateTime, Duration, Effect, Layer } from "effect"
import { again } from "../jobs/Again.ts"

const every = Duration.hours(1)

/** A state whose ticket is too old to be taken again need not be remembered. */
export const sweep = Effect.gen(function* () {
  const states = yield* OAuthStateRepository
  const removed = yield* states.removeExpired(yield* DateTime.now)
  if (removed > 0)
    yield* Effect.logInfo("Used OAuth states were forgotten").pipe(Effect.annotateLogs({ states: removed }))
}).pipe(Effect.withSpan("UsedOAuthStates.sweep"))

export const layer = Layer.scopedDiscard(again("forget used OAuth states", every, sweep))
