import { Effect } from "effect"
import { Wallets } from "./Wallets.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { SessionId } from "../../sessions/Session.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { type WalletProofRequest, WalletProofs } from "./WalletProofs.ts"
import type { UserId } from "../../shared/UserId.ts"

export interface WalletLinkRequest extends WalletProofRequest {
  readonly userId: UserId
  readonly sessionId: SessionId
  /** Limit key of the client's address. */
  readonly from: string
}

/** Links a proven wallet to a signed-in user. */
export class WalletLinking extends Effect.Service<WalletLinking>()("@berth/WalletLinking", {
  effect: Effect.gen(function* () {
    const proofs = yield* WalletProofs
    const wallets = yield* Wallets
    const sessions = yield* Sessions
    const transaction = yield* Transaction
    const limiter = yield* RateLimiter

    /** The HTTP middleware has taken one from `sign-in`; success refunds it. */
    const link = Effect.fn("WalletLinking.link")(function* (request: WalletLinkRequest) {
      const proof = yield* proofs.verify(request)
      const wallet = yield* transaction.run(
        Effect.gen(function* () {
          yield* proofs.consume(proof)
          const linked = yield* wallets.link(request.userId, proof.address)
          yield* sessions.lock(request.sessionId)
          return linked
        })
      )
      yield* limiter.refund("sign-in", request.from)
      return wallet
    })

    return { link }
  })
}) {}
