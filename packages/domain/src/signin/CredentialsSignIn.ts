import { Effect, Option, type Redacted } from "effect"
import { Credentials } from "../accounts/Credentials.ts"
import { emailKey, parseEmail } from "../accounts/Email.ts"
import { RateLimiter } from "../limits/RateLimiter.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { Sessions } from "../sessions/Sessions.ts"

export interface CredentialsSignInRequest {
  readonly email: string
  readonly password: Redacted.Redacted
  /** Limit key of the client's address. */
  readonly address: string
  /** The session that the client already has; it ends, so that no session outlives a sign-in. */
  readonly current: Option.Option<Redacted.Redacted>
}

/** An account is limited together with the address, so that no stranger can lock its owner out. */
const accountKey = (email: string, address: string) =>
  `${Option.match(parseEmail(email), { onNone: () => "none", onSome: emailKey })}|${address}`

/** Sign-in by e-mail and password: limited, checked, and answered with a new session. */
export class CredentialsSignIn extends Effect.Service<CredentialsSignIn>()("@berth/CredentialsSignIn", {
  effect: Effect.gen(function* () {
    const credentials = yield* Credentials
    const sessions = yield* Sessions
    const limiter = yield* RateLimiter
    const transaction = yield* Transaction

    /** Only failed attempts count: the caller has taken from `sign-in` for the address, and a right sign-in gives it back. */
    const signIn = Effect.fn("CredentialsSignIn.signIn")(function* (request: CredentialsSignInRequest) {
      const account = accountKey(request.email, request.address)
      yield* limiter.take("sign-in-account", account)
      const { hold, user } = yield* credentials.verify(request.email, request.password)
      const { token } = yield* transaction.run(
        Effect.gen(function* () {
          yield* hold
          yield* Option.match(request.current, { onNone: () => Effect.void, onSome: sessions.close })
          return yield* sessions.open(user.id)
        })
      )
      yield* limiter.giveBack("sign-in", request.address)
      yield* limiter.giveBack("sign-in-account", account)
      yield* Effect.annotateCurrentSpan("user.id", user.id)
      return { user, token }
    })

    return { signIn }
  })
}) {}
