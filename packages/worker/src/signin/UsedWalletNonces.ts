import { WalletNonceRepository } from "@berth/domain/signin/WalletNonceRepository"
import { DateTime, Duration, Effect, Layer } from "effect"
import { again } from "../jobs/Again.ts"

const every = Duration.hours(1)

/** A nonce whose message is too old to be taken again need not be remembered. */
export const sweep = Effect.gen(function* () {
  const nonces = yield* WalletNonceRepository
  const removed = yield* nonces.removeExpired(yield* DateTime.now)
  if (removed > 0)
    yield* Effect.logInfo("Used wallet nonces were forgotten").pipe(Effect.annotateLogs({ nonces: removed }))
}).pipe(Effect.withSpan("UsedWalletNonces.sweep"))

export const layer = Layer.scopedDiscard(again("forget used wallet nonces", every, sweep))
