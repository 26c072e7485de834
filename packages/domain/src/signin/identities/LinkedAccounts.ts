import { Data, Effect, Option } from "effect"
import { AccountPolicy, isSyntheticEmail } from "../../accounts/AccountPolicy.ts"
import type { Email } from "../../shared/Email.ts"
import { ExternalAccounts } from "../../accounts/registration/ExternalAccounts.ts"
import { Users } from "../../accounts/Users.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { AccountClaims } from "../../recovery/claims/AccountClaims.ts"
import type { ExternalIdentity } from "./LinkedIdentity.ts"
import { LinkedIdentities } from "./LinkedIdentities.ts"

/** The provider names no e-mail address that it has verified, and the identity leads into no account yet. */
export class ProviderEmailUnverified extends Data.TaggedError("ProviderEmailUnverified")<object> {}

/** Somebody at a provider, with what the provider says of him. */
export interface VerifiedIdentity extends ExternalIdentity {
  /** Only one that the provider has verified. */
  readonly email: Option.Option<Email>
  readonly name: Option.Option<string>
}

/**
 * Whose account an identity leads into. The first time an account with its e-mail is linked, and claimed if nobody has
 * ever proved that e-mail, in the same transaction.
 */
export class LinkedAccounts extends Effect.Service<LinkedAccounts>()("@berth/LinkedAccounts", {
  effect: Effect.gen(function* () {
    const linked = yield* LinkedIdentities
    const users = yield* Users
    const accounts = yield* ExternalAccounts
    const claims = yield* AccountClaims
    const transaction = yield* Transaction
    const rules = yield* AccountPolicy

    const create = (email: Email, name: Option.Option<string>) =>
      Effect.gen(function* () {
        const { id } = yield* accounts.create({ email, name })
        yield* accounts.confirmEmail(id)
        yield* Effect.logInfo("A user came by a provider").pipe(Effect.annotateLogs("userId", id))
        return id
      })

    /** The account of a proved address, which nobody else changes until the transaction ends. */
    const ofEmail = (email: Email, name: Option.Option<string>) =>
      Effect.gen(function* () {
        const known = yield* accounts.findByEmailForUpdate(email)
        if (Option.isNone(known)) return yield* create(email, name)
        if (known.value.emailVerifiedAt === null) yield* claims.claim(known.value.id)
        return known.value.id
      }).pipe(
        // Somebody else made it in between; it is there now.
        Effect.retry({ times: 3, while: ({ _tag }) => _tag === "EmailAlreadyTaken" }),
        Effect.orDie
      )

    const findOrCreateOwner = Effect.fn("LinkedAccounts.findOrCreateOwner")(function* (identity: VerifiedIdentity) {
      return yield* transaction.run(
        Effect.gen(function* () {
          const link = yield* linked.findForUpdate(identity)
          if (Option.isSome(link)) return yield* Effect.orDie(users.find(link.value.userId))
          const email = yield* Effect.mapError(
            Option.filter(identity.email, (proved) => !isSyntheticEmail(proved, rules)),
            () => new ProviderEmailUnverified()
          )
          const id = yield* ofEmail(email, identity.name)
          yield* linked.link(id, identity)
          return yield* Effect.orDie(users.find(id))
        })
      )
    })

    return { findOrCreateOwner }
  })
}) {}
