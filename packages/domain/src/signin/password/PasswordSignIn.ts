import { Effect, Option, type Redacted } from "effect"
import { PasswordCredentials } from "../../accounts/password/PasswordCredentials.ts"
import { normalizeEmail, parseEmail } from "../../shared/Email.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Sessions } from "../../sessions/Sessions.ts"

export interface PasswordSignInRequest {
  readonly email: string
  readonly password: Redacted.Redacted
  /** Limit key of the client's address. */
  readonly address: string
  /** The session that the client already has; it ends, so that no session outlives a sign-in. */
  readonly current: Option.Option<Redacted.Redacted>
}

/** An account is limited together with the address, so that no stranger can lock its owner out. */
const accountKey = (email: string, address: string) =>
  `${Option.match(parseEmail(email), { onNone: () => "none", onSome: normalizeEmail })}|${address}`

/** Sign-in by e-mail and password: limited, checked, and answered with a new session. */
export class PasswordSignIn extends Effect.Service<PasswordSignIn>()("@berth/PasswordSignIn", {
  effect: Effect.gen(function* () {
    const credentials = yield* PasswordCredentials
    const sessions = yield* Sessions
    const limiter = yield* RateLimiter
    const transaction = yield* Transaction

    /** Only failed attempts count: the caller has taken from `sign-in` for the address, and a right sign-in gives it back. */
    const signIn = Effect.fn("PasswordSignIn.signIn")(function* (request: PasswordSignInRequest) {
      const account = accountKey(request.email, request.address)
      yield* limiter.take("sign-in-account", account)
      const { hold, user } = yield* credentials.verify(request.email, request.password)
      const { token } = yield* transaction.run(
        Effect.gen(function* () {
          yield* hold
          yield* Option.match(request.current, { onNone: () => Effect.void, onSome: sessions.revokeByToken })
          return yield* sessions.open(user.id)
        })
      )
      yield* limiter.refund("sign-in", request.address)
      yield* limiter.refund("sign-in-account", account)
      yield* Effect.annotateCurrentSpan("user.id", user.id)
      return { user, token }
    })

    return { signIn }
  })
}) {}
