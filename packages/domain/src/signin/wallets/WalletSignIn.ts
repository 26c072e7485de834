import { Data, Effect, Option, type Redacted } from "effect"
import { Wallets } from "./Wallets.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { type WalletProofRequest, WalletProofs } from "./WalletProofs.ts"
import { takeSuccess } from "../SignInLimit.ts"

/** The same error for every cause, since details would help an attacker. */
export class WalletSignInRejected extends Data.TaggedError("WalletSignInRejected")<object> {}

interface WalletSignInRequest extends WalletProofRequest {
  /** Limit key of the client's address. */
  readonly from: string
  /** Current session of the client; a sign-in replaces it. */
  readonly current: Option.Option<Redacted.Redacted>
}

/** Sign-in by a wallet's signature. The first sign-in creates the account. */
export class WalletSignIn extends Effect.Service<WalletSignIn>()("@berth/WalletSignIn", {
  effect: Effect.gen(function* () {
    const proofs = yield* WalletProofs
    const wallets = yield* Wallets
    const sessions = yield* Sessions
    const transaction = yield* Transaction
    const limiter = yield* RateLimiter

    /** The HTTP middleware takes one from `sign-in`; success refunds it. */
    const signIn = Effect.fn("WalletSignIn.signIn")(
      function* (request: WalletSignInRequest) {
        const proof = yield* proofs.verify(request)
        const signedIn = yield* transaction.run(
          Effect.gen(function* () {
            yield* proofs.consume(proof)
            // Keys are free to create, so new accounts count as registrations.
            const user = yield* wallets.findOrCreateOwner(proof.address, limiter.take("register", request.from))
            yield* takeSuccess(limiter, user.id, request.from)
            yield* Option.match(request.current, { onNone: () => Effect.void, onSome: sessions.revokeByToken })
            const { token } = yield* sessions.open(user.id)
            return { user, token }
          })
        )
        yield* limiter.refund("sign-in", request.from)
        yield* Effect.annotateCurrentSpan("user.id", signedIn.user.id)
        return signedIn
      },
      Effect.catchTag("WalletProofRejected", () => new WalletSignInRejected())
    )

    return { signIn }
  })
}) {}
