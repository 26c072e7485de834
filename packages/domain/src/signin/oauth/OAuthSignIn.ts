import { Data, Effect, Option, Redacted } from "effect"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Digests, hashSecret } from "../../secrets/Digests.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { LinkedAccounts } from "../identities/LinkedAccounts.ts"
import {
  OAuthResponseRejected,
  type OAuthProviderName,
  OAuthProviderUnavailable,
  OAuthProviders
} from "./OAuthProvider.ts"
import { OAuthStateRepository } from "./OAuthStateRepository.ts"
import { OAuthTickets } from "./OAuthTickets.ts"
import { takeSuccess } from "../SignInLimit.ts"

class OAuthNotConfigured extends Data.TaggedError("OAuthNotConfigured")<object> {}
/** This browser did not start the sign-in, or the sign-in has ended or expired. */
class OAuthStateInvalid extends Data.TaggedError("OAuthStateInvalid")<object> {}
/** The user denied access at the provider. */
class OAuthAccessDenied extends Data.TaggedError("OAuthAccessDenied")<object> {}

interface OAuthCallback {
  readonly provider: OAuthProviderName
  readonly query: Redacted.Redacted<URLSearchParams>
  /** Sealed ticket from `start`. */
  readonly ticket: Option.Option<Redacted.Redacted>
  /** Limit key of the client's address. */
  readonly from: string
  /** Current session of the client; a sign-in replaces it. */
  readonly current: Option.Option<Redacted.Redacted>
}

/** Provider outages (RFC 6749, 4.1.2.1). */
const outages = new Set(["server_error", "temporarily_unavailable"])

const toCallbackError = (error: string) => {
  if (error === "access_denied") return new OAuthAccessDenied()
  return outages.has(error)
    ? new OAuthProviderUnavailable({ reason: "the provider reports an outage" })
    : new OAuthResponseRejected({ reason: "error response" })
}

export class OAuthSignIn extends Effect.Service<OAuthSignIn>()("@berth/OAuthSignIn", {
  effect: Effect.gen(function* () {
    const providers = yield* OAuthProviders
    const tickets = yield* OAuthTickets
    const states = yield* OAuthStateRepository
    const accounts = yield* LinkedAccounts
    const sessions = yield* Sessions
    const digests = yield* Digests
    const transaction = yield* Transaction
    const limiter = yield* RateLimiter

    const providerOf = (name: OAuthProviderName) => Effect.mapError(providers[name], () => new OAuthNotConfigured())

    /** Returns the authorization URL and the ticket that the callback presents. */
    const start = Effect.fn("OAuthSignIn.start")(function* (name: OAuthProviderName, callbackUrl: string) {
      const provider = yield* providerOf(name)
      const { sealed, secrets } = yield* tickets.issue(name, callbackUrl)
      return { url: yield* provider.authorizationUrl(secrets), ticket: sealed }
    })

    /** Consumes the ticket of a callback. */
    const redeem = Effect.fnUntraced(function* ({ provider, query, ticket }: OAuthCallback) {
      const state = Option.fromNullable(Redacted.value(query).get("state"))
      const opened = yield* Option.match(Option.all({ ticket, state }), {
        onNone: () => Effect.succeedNone,
        onSome: (shown) => tickets.open(shown.ticket, { provider, state: Redacted.make(shown.state) })
      })
      const redeemed = yield* Effect.mapError(opened, () => new OAuthStateInvalid())
      // Before the code is exchanged, since providers revoke the tokens of a reused code.
      if (!(yield* states.consume(hashSecret(digests, redeemed.state), redeemed.expiresAt)))
        return yield* new OAuthStateInvalid()
      return redeemed
    })

    /** Only failures count, and only for a browser that started the sign-in. */
    const finish = Effect.fn("OAuthSignIn.finish")(function* (request: OAuthCallback) {
      const provider = yield* providerOf(request.provider)
      const ticket = yield* redeem(request)
      yield* limiter.take("sign-in", request.from)
      const error = Redacted.value(request.query).get("error")
      if (error !== null) return yield* toCallbackError(error)
      const identity = yield* provider.identify(request.query, ticket)
      const signedIn = yield* transaction.run(
        Effect.gen(function* () {
          const user = yield* accounts.findOrCreateOwner(identity)
          yield* takeSuccess(limiter, user.id, request.from)
          yield* Option.match(request.current, { onNone: () => Effect.void, onSome: sessions.revokeByToken })
          const { token } = yield* sessions.open(user.id)
          return { user, token, callbackUrl: ticket.callbackUrl }
        })
      )
      yield* limiter.refund("sign-in", request.from)
      yield* Effect.annotateCurrentSpan("user.id", signedIn.user.id)
      return signedIn
    })

    return { start, finish }
  })
}) {}
