import { Effect } from "effect"
import type { WalletAddress } from "../../chain/WalletAddress.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { CurrentUser } from "../../sessions/CurrentUser.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { takeSuccess } from "../SignInLimit.ts"
import { type WalletProofRequest, WalletProofs } from "./WalletProofs.ts"
import { Wallets } from "./Wallets.ts"

interface WalletLinkRequest extends WalletProofRequest {
  /** Limit key of the client's address. */
  readonly from: string
}

/** Changes the wallets of a signed-in user. Both operations require a recent sign-in. */
export class WalletLinking extends Effect.Service<WalletLinking>()("@berth/WalletLinking", {
  effect: Effect.gen(function* () {
    const proofs = yield* WalletProofs
    const wallets = yield* Wallets
    const sessions = yield* Sessions
    const transaction = yield* Transaction
    const limiter = yield* RateLimiter

    /** The HTTP middleware takes one from `sign-in`; success refunds it. */
    const link = Effect.fn("WalletLinking.link")(function* (
      { sessionId, user }: CurrentUser["Type"],
      request: WalletLinkRequest
    ) {
      yield* sessions.requireRecent(sessionId)
      const proof = yield* proofs.verify(request)
      const wallet = yield* transaction.run(
        Effect.gen(function* () {
          yield* proofs.consume(proof)
          const linked = yield* wallets.link(user.id, proof.address)
          yield* takeSuccess(limiter, user.id, request.from)
          yield* sessions.lock(sessionId)
          return linked
        })
      )
      yield* limiter.refund("sign-in", request.from)
      return wallet
    })

    const unlink = Effect.fn("WalletLinking.unlink")(function* (
      { sessionId, user }: CurrentUser["Type"],
      address: WalletAddress
    ) {
      yield* sessions.requireRecent(sessionId)
      yield* transaction.run(Effect.zipRight(wallets.unlink(user.id, address), sessions.lock(sessionId)))
    })

    return { link, unlink }
  })
}) {}
