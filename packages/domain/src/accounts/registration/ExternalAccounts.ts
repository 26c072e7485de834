import { Effect, Option, Redacted } from "effect"
import { DomainEvents } from "../../events/DomainEvents.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { Outbox } from "../../jobs/Outbox.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import type { Email } from "../../shared/Email.ts"
import { parseDisplayName } from "../profile/DisplayName.ts"
import { makeReferralCode } from "../referrals/ReferralCode.ts"
import { Referrals } from "../referrals/Referrals.ts"
import { summarizeUser } from "../../shared/User.ts"
import { UserRepository } from "../UserRepository.ts"
import { UserId } from "../../shared/UserId.ts"
import { EmailAddressConfirmedJob } from "../AccountJobs.ts"

/** Accounts of wallets and external identity providers. Callers have verified the wallet or identity. */
export class ExternalAccounts extends Effect.Service<ExternalAccounts>()("@berth/ExternalAccounts", {
  effect: Effect.gen(function* () {
    const repository = yield* UserRepository
    const referrals = yield* Referrals
    const outbox = yield* Outbox
    const events = yield* DomainEvents
    const transaction = yield* Transaction
    const ids = yield* IdGenerator
    const tokens = yield* Tokens

    /**
     * Creates an account without a password. `email` may be derived from its id; the email replaces a missing or
     * invalid display name.
     */
    const create = Effect.fn("ExternalAccounts.create")(function* (profile: {
      readonly email: Email | ((id: UserId) => Email)
      readonly name: Option.Option<string>
    }) {
      const id = UserId.make(yield* ids.next("usr"))
      const email = typeof profile.email === "function" ? profile.email(id) : profile.email
      const user = {
        id,
        email,
        name: Option.getOrElse(Option.flatMap(profile.name, parseDisplayName), () => email),
        passwordHash: null,
        referralCode: makeReferralCode(Redacted.value(yield* tokens.make))
      }
      return yield* transaction.run(
        Effect.tap(repository.insert(user), (created) =>
          events.append({ kind: "user.created", data: summarizeUser(created) }, id)
        )
      )
    })

    /** Verifies the account's present address, like its mailed link. Joins the running transaction. */
    const confirmEmail = Effect.fn("ExternalAccounts.confirmEmail")(function* (id: UserId) {
      yield* repository.markEmailVerified(id)
      yield* referrals.payReward(id)
      yield* outbox.append(EmailAddressConfirmedJob, { userId: id }, id)
    })

    return { create, findByEmailForUpdate: repository.findByEmailForUpdate, confirmEmail }
  })
}) {}
