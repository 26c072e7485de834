import { Effect, Option, type Redacted } from "effect"
import { PasswordCredentials } from "../../accounts/password/PasswordCredentials.ts"
import { normalizeEmail, parseEmail } from "../../shared/Email.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { takeSuccess } from "../SignInLimit.ts"

interface PasswordSignInRequest {
  readonly email: string
  readonly password: Redacted.Redacted
  /** Limit key of the client's address. */
  readonly address: string
  /** Current session of the client; a sign-in replaces it. */
  readonly current: Option.Option<Redacted.Redacted>
}

/** Account and address together, so that a third party cannot lock the account. */
const accountKey = (email: string, address: string) =>
  `${Option.match(parseEmail(email), { onNone: () => "none", onSome: normalizeEmail })}|${address}`

export class PasswordSignIn extends Effect.Service<PasswordSignIn>()("@berth/PasswordSignIn", {
  effect: Effect.gen(function* () {
    const credentials = yield* PasswordCredentials
    const sessions = yield* Sessions
    const limiter = yield* RateLimiter
    const transaction = yield* Transaction

    /** The HTTP middleware takes one from `sign-in`; success refunds it. */
    const signIn = Effect.fn("PasswordSignIn.signIn")(function* (request: PasswordSignInRequest) {
      const account = accountKey(request.email, request.address)
      // A rejected take of either limit leaves both unchanged.
      yield* Effect.tapError(limiter.take("sign-in-account", account), () => limiter.refund("sign-in", request.address))
      const { hold, user } = yield* credentials.verify(request.email, request.password)
      yield* takeSuccess(limiter, user.id, request.address)
      const { token } = yield* transaction.run(
        Effect.gen(function* () {
          yield* hold
          yield* Option.match(request.current, { onNone: () => Effect.void, onSome: sessions.revokeByToken })
          return yield* sessions.open(user.id)
        })
      )
      yield* limiter.refund("sign-in-account", account)
      yield* limiter.refund("sign-in", request.address)
      yield* Effect.annotateCurrentSpan("user.id", user.id)
      return { user, token }
    })

    return { signIn }
  })
}) {}
