import { Data, Effect, Option } from "effect"
import { AccessNotices } from "../../accounts/access-notices/AccessNotices.ts"
import { AccountPolicy, isSyntheticEmail } from "../../accounts/AccountPolicy.ts"
import type { Email } from "../../shared/Email.ts"
import { ExternalAccounts } from "../../accounts/registration/ExternalAccounts.ts"
import { Users } from "../../accounts/Users.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { AccountClaims } from "../../recovery/claims/AccountClaims.ts"
import type { ExternalIdentity } from "./LinkedIdentity.ts"
import { LinkedIdentities } from "./LinkedIdentities.ts"

/** The provider reports no verified email, and the identity is not linked. */
class ProviderEmailUnverified extends Data.TaggedError("ProviderEmailUnverified")<object> {}

/** The verified email belongs to an account of another subject of the same issuer. */
class OAuthSubjectConflict extends Data.TaggedError("OAuthSubjectConflict")<object> {}

export interface VerifiedIdentity extends ExternalIdentity {
  /** Verified by the provider. */
  readonly email: Option.Option<Email>
  readonly name: Option.Option<string>
}

/**
 * Accounts of external identities. The first sign-in links the account with the same email; an account with an
 * unverified email is claimed.
 */
export class LinkedAccounts extends Effect.Service<LinkedAccounts>()("@berth/LinkedAccounts", {
  effect: Effect.gen(function* () {
    const linked = yield* LinkedIdentities
    const users = yield* Users
    const accounts = yield* ExternalAccounts
    const claims = yield* AccountClaims
    const notices = yield* AccessNotices
    const transaction = yield* Transaction
    const policy = yield* AccountPolicy

    const create = Effect.fnUntraced(function* (email: Email, name: Option.Option<string>) {
      const { id } = yield* accounts.create({ email, name })
      yield* accounts.confirmEmail(id)
      yield* Effect.logInfo("User created by OAuth").pipe(Effect.annotateLogs("userId", id))
      return id
    })

    /** Returns the account of a verified address, locked until the transaction ends; creates it if absent. */
    const findOrCreateByEmail = Effect.fnUntraced(
      function* (email: Email, identity: VerifiedIdentity) {
        const account = yield* accounts.findByEmailForUpdate(email)
        if (Option.isNone(account)) return yield* create(email, identity.name)
        // An unverified email does not prove ownership: the account is claimed, which unlinks its other identities.
        if (account.value.emailVerifiedAt === null)
          yield* Effect.mapError(claims.claim(account.value.id), () => new ProviderEmailUnverified())
        else if (yield* linked.hasOtherSubject(account.value.id, identity)) return yield* new OAuthSubjectConflict()
        yield* notices.announce(account.value.id, `A sign-in at ${identity.issuer} was linked.`)
        return account.value.id
      },
      // A concurrent request created the account.
      Effect.retry({ times: 3, while: ({ _tag }) => _tag === "EmailAlreadyTaken" }),
      Effect.catchTag("EmailAlreadyTaken", Effect.die)
    )

    const findOrCreateOwner = Effect.fn("LinkedAccounts.findOrCreateOwner")(function* (identity: VerifiedIdentity) {
      const link = yield* linked.findForUpdate(identity)
      if (Option.isSome(link)) return yield* Effect.orDie(users.find(link.value.userId))
      const email = yield* Effect.mapError(
        Option.filter(identity.email, (address) => !isSyntheticEmail(address, policy)),
        () => new ProviderEmailUnverified()
      )
      const id = yield* findOrCreateByEmail(email, identity)
      yield* linked.link(id, identity)
      return yield* Effect.orDie(users.find(id))
    }, transaction.run)

    return { findOrCreateOwner }
  })
}) {}
