import { Data, Effect, Option, type Redacted } from "effect"
import { AccountPolicy } from "../../accounts/AccountPolicy.ts"
import { Email } from "../../shared/Email.ts"
import { ExternalAccounts } from "../../accounts/registration/ExternalAccounts.ts"
import { Users } from "../../accounts/Users.ts"
import { Wallets } from "../wallets/Wallets.ts"
import { parseWalletAddress, type WalletAddress, normalizeWalletAddress } from "../../chain/WalletAddress.ts"
import { TokenGate } from "../../gating/TokenGate.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { ExternalIdentity } from "../identities/LinkedIdentity.ts"
import { LinkedIdentities } from "../identities/LinkedIdentities.ts"
import { type SocialIdentity, SocialIdentityTokens } from "./SocialIdentity.ts"
import { SocialSessions } from "./SocialSessions.ts"
import type { UserId } from "../../shared/UserId.ts"
import { takeSuccess } from "../SignInLimit.ts"

/** A proven address does not hold enough of the gating token. */
export class TokenBalanceInsufficient extends Data.TaggedError("TokenBalanceInsufficient")<{
  /** The token's symbol. */
  readonly required: string
  /** In the token's smallest units. */
  readonly minBalance: bigint
}> {}

interface SocialSignInRequest {
  readonly token: Redacted.Redacted
  /** Not validated; a malformed address is ignored. */
  readonly address: Option.Option<string>
  /** Limit key of the client's address. */
  readonly from: string
}

/** Sign-in by an ID token of the social identity network. The first sign-in creates the account. */
export class SocialSignIn extends Effect.Service<SocialSignIn>()("@berth/SocialSignIn", {
  effect: Effect.gen(function* () {
    const identities = yield* SocialIdentityTokens
    const linked = yield* LinkedIdentities
    const accounts = yield* ExternalAccounts
    const users = yield* Users
    const wallets = yield* Wallets
    const gate = yield* TokenGate
    const sessions = yield* SocialSessions
    const transaction = yield* Transaction
    const limiter = yield* RateLimiter
    const policy = yield* AccountPolicy

    /** Whether the token or a linked wallet proves an address. */
    const isProven = Effect.fnUntraced(function* (
      requested: WalletAddress,
      identity: SocialIdentity,
      userId: Option.Option<UserId>
    ) {
      const isRequested = (address: WalletAddress) =>
        normalizeWalletAddress(address) === normalizeWalletAddress(requested)
      if (Option.exists(identity.address, isRequested)) return true
      const own = yield* Option.match(userId, { onNone: () => Effect.succeed([]), onSome: wallets.listByUser })
      return own.some(({ address }) => isRequested(address))
    })

    /** An unproven address is not a failure: the access is basic. */
    const readAccessLevel = Effect.fnUntraced(
      function* (requested: Option.Option<WalletAddress>, identity: SocialIdentity, userId: Option.Option<UserId>) {
        if (Option.isNone(requested) || !(yield* isProven(requested.value, identity, userId))) return "basic" as const
        const { hasAccess, token } = yield* gate.check(requested.value)
        if (!hasAccess)
          return yield* new TokenBalanceInsufficient({ required: token.symbol, minBalance: token.minBalance })
        return "premium" as const
      },
      Effect.catchTag("GatingNotConfigured", () => Effect.succeed("basic" as const))
    )

    const create = Effect.fnUntraced(function* (fid: string) {
      const user = yield* accounts.create({
        email: (id) => Email.make(`${id}@${policy.socialEmailDomain}`),
        name: Option.some(`fid ${fid}`)
      })
      yield* Effect.logInfo("User created by social identity").pipe(Effect.annotateLogs("userId", user.id))
      return user
      // The email contains the new id, so it is unique.
    }, Effect.orDie)

    const findOrCreateOwner = Effect.fnUntraced(function* (identity: ExternalIdentity) {
      const link = yield* linked.findForUpdate(identity)
      if (Option.isSome(link)) return yield* Effect.orDie(users.find(link.value.userId))
      const user = yield* create(identity.subject)
      yield* linked.link(user.id, identity)
      return user
    })

    /** The HTTP middleware takes one from `sign-in`; success refunds it. */
    const signIn = Effect.fn("SocialSignIn.signIn")(
      function* (request: SocialSignInRequest) {
        const proven = yield* identities.verify(request.token)
        const identity = { provider: "socialIdentity" as const, issuer: proven.issuer, subject: proven.fid }
        const known = Option.map(yield* linked.find(identity), ({ userId }) => userId)
        const accessLevel = yield* readAccessLevel(Option.flatMap(request.address, parseWalletAddress), proven, known)
        const signedIn = yield* transaction.run(
          Effect.gen(function* () {
            const user = yield* findOrCreateOwner(identity)
            yield* takeSuccess(limiter, user.id, request.from)
            return { user, token: yield* sessions.open(user.id), accessLevel }
          })
        )
        yield* limiter.refund("sign-in", request.from)
        yield* Effect.annotateCurrentSpan("user.id", signedIn.user.id)
        return signedIn
      },
      Effect.tapErrorTag("SocialTokenRejected", ({ reason }) =>
        Effect.logInfo("ID token rejected").pipe(Effect.annotateLogs({ reason }))
      )
    )

    return { signIn }
  })
}) {}
