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

/** A proven address does not hold enough of the gating token. */
export class TokenBalanceInsufficient extends Data.TaggedError("TokenBalanceInsufficient")<{
  /** The token's symbol. */
  readonly required: string
  /** In the token's smallest units. */
  readonly minBalance: bigint
}> {}

/** Whether a proven address opened the gate: `premium`; else nothing was asked: `basic`. */
export type AccessLevel = "basic" | "premium"

export interface SocialSignInRequest {
  readonly token: Redacted.Redacted
  /** As it came; what is no address proves nothing. */
  readonly address: Option.Option<string>
  /** Limit key of the client's address. */
  readonly from: string
}

/** Sign-in by an ID token of the social identity network; the first one makes the account. */
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
    const rules = yield* AccountPolicy

    /** Whether the token, or a wallet of the account, says that the address is his. */
    const isProven = Effect.fnUntraced(function* (
      asked: WalletAddress,
      identity: SocialIdentity,
      userId: Option.Option<UserId>
    ) {
      const isAsked = (address: WalletAddress) => normalizeWalletAddress(address) === normalizeWalletAddress(asked)
      if (Option.exists(identity.address, isAsked)) return true
      const own = yield* Option.match(userId, { onNone: () => Effect.succeed([]), onSome: wallets.listByUser })
      return own.some(({ address }) => isAsked(address))
    })

    /** What the address opens. Nothing that is known about it says nothing against him. */
    const accessOf = (asked: Option.Option<WalletAddress>, identity: SocialIdentity, userId: Option.Option<UserId>) =>
      Effect.gen(function* () {
        if (Option.isNone(asked) || !(yield* isProven(asked.value, identity, userId))) return "basic" as const
        const { hasAccess, token } = yield* gate.check(asked.value)
        if (!hasAccess)
          return yield* new TokenBalanceInsufficient({ required: token.symbol, minBalance: token.minBalance })
        return "premium" as const
      }).pipe(Effect.catchTag("GatingNotConfigured", () => Effect.succeed("basic" as const)))

    const create = (fid: string) =>
      Effect.gen(function* () {
        const user = yield* accounts.create({
          email: (id) => Email.make(`${id}@${rules.socialEmailDomain}`),
          name: Option.some(`fid ${fid}`)
        })
        yield* Effect.logInfo("A user came by social identity").pipe(Effect.annotateLogs("userId", user.id))
        return user
        // The address has the new id in it, so nobody has it yet.
      }).pipe(Effect.orDie)

    /** Whose account it is; made when it is nobody's. */
    const ownerOf = (identity: ExternalIdentity) =>
      Effect.gen(function* () {
        const link = yield* linked.findForUpdate(identity)
        if (Option.isSome(link)) return yield* Effect.orDie(users.find(link.value.userId))
        const user = yield* create(identity.subject)
        yield* linked.link(user.id, identity)
        return user
      })

    /** As with every sign-in, only failed attempts count: the caller has taken from `sign-in` for the address. */
    const signIn = Effect.fn("SocialSignIn.signIn")(
      function* (request: SocialSignInRequest) {
        const proven = yield* identities.verify(request.token)
        const identity = { provider: "socialIdentity" as const, issuer: proven.issuer, subject: proven.fid }
        const known = Option.map(yield* linked.find(identity), ({ userId }) => userId)
        const accessLevel = yield* accessOf(Option.flatMap(request.address, parseWalletAddress), proven, known)
        const signedIn = yield* transaction.run(
          Effect.gen(function* () {
            const user = yield* ownerOf(identity)
            return { user, token: yield* sessions.open(user.id), accessLevel }
          })
        )
        yield* limiter.refund("sign-in", request.from)
        yield* Effect.annotateCurrentSpan("user.id", signedIn.user.id)
        return signedIn
      },
      Effect.tapErrorTag("SocialTokenRejected", ({ reason }) =>
        Effect.logInfo("An ID token was refused").pipe(Effect.annotateLogs({ reason }))
      )
    )

    return { signIn }
  })
}) {}
