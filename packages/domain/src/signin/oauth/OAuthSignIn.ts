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

/** The operator has not set this provider up. */
export class OAuthNotConfigured extends Data.TaggedError("OAuthNotConfigured")<object> {}
/** This browser has not begun this sign-in, has finished it before, or took too long. */
export class OAuthStateInvalid extends Data.TaggedError("OAuthStateInvalid")<object> {}
/** Whoever was asked at the provider said no. */
export class OAuthAccessDenied extends Data.TaggedError("OAuthAccessDenied")<object> {}

export interface OAuthCallback {
  readonly provider: OAuthProviderName
  /** The query that the browser came back with. */
  readonly query: Redacted.Redacted<URLSearchParams>
  /** What the browser was given at the start. */
  readonly ticket: Option.Option<Redacted.Redacted>
  /** Limit key of the client's address. */
  readonly from: string
  /** The session that the client already has; it ends, so that no session outlives a sign-in. */
  readonly current: Option.Option<Redacted.Redacted>
}

/** RFC 6749, 4.1.2.1: the provider's own troubles. */
const outages = new Set(["server_error", "temporarily_unavailable"])

const judgeError = (error: string) => {
  if (error === "access_denied") return new OAuthAccessDenied()
  return outages.has(error)
    ? new OAuthProviderUnavailable({ reason: "it says so" })
    : new OAuthResponseRejected({ reason: "it answers with an error" })
}

/** Sign-in at a provider: there and back. */
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

    /** Where the browser goes, and the ticket that it brings back. */
    const start = Effect.fn("OAuthSignIn.start")(function* (name: OAuthProviderName, callbackUrl: string) {
      const provider = yield* providerOf(name)
      const { sealed, secrets } = yield* tickets.issue(name, callbackUrl)
      return { url: yield* provider.authorizationUrl(secrets), ticket: sealed }
    })

    /** The ticket of this very return, which is then used up. */
    const redeem = Effect.fnUntraced(function* ({ provider, query, ticket }: OAuthCallback) {
      const state = Option.fromNullable(Redacted.value(query).get("state"))
      const opened = yield* Option.match(Option.all({ ticket, state }), {
        onNone: () => Effect.succeedNone,
        onSome: (shown) => tickets.open(shown.ticket, { provider, state: Redacted.make(shown.state) })
      })
      const redeemed = yield* Effect.mapError(opened, () => new OAuthStateInvalid())
      // Before the code is used and not with what comes of it: a provider that sees a code twice takes back what it gave.
      if (!(yield* states.consume(hashSecret(digests, redeemed.state), redeemed.expiresAt)))
        return yield* new OAuthStateInvalid()
      return redeemed
    })

    /** Only what fails counts, and only once a browser has shown that it began the sign-in itself. */
    const finish = Effect.fn("OAuthSignIn.finish")(function* (request: OAuthCallback) {
      const provider = yield* providerOf(request.provider)
      const ticket = yield* redeem(request)
      yield* limiter.take("sign-in", request.from)
      const error = Redacted.value(request.query).get("error")
      if (error !== null) return yield* judgeError(error)
      const identity = yield* provider.identify(request.query, ticket)
      const signedIn = yield* transaction.run(
        Effect.gen(function* () {
          const user = yield* accounts.findOrCreateOwner(identity)
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
