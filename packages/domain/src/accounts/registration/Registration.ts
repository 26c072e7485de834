import { Effect, Either, Option, RcMap, Redacted, Ref } from "effect"
import { DomainEvents } from "../../events/DomainEvents.ts"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import { type Email, normalizeEmail } from "../../shared/Email.ts"
import { summarizeUser, type User } from "../../shared/User.ts"
import { EmailAlreadyTaken, requireFields } from "../AccountErrors.ts"
import { AccountPolicy, parseAccountEmail } from "../AccountPolicy.ts"
import { EmailVerifications } from "../email-verification/EmailVerifications.ts"
import { MailedTokens } from "../mailed-tokens/MailedTokens.ts"
import { CommonPasswords } from "../password/CommonPasswords.ts"
import { validatePassword } from "../password/Password.ts"
import { PasswordHasher } from "../password/PasswordHasher.ts"
import { validateDisplayName } from "../profile/DisplayName.ts"
import { makeReferralCode } from "../referrals/ReferralCode.ts"
import { Referrals } from "../referrals/Referrals.ts"
import { UserRepository } from "../UserRepository.ts"
import { UserId } from "../../shared/UserId.ts"

interface RegistrationRequest {
  readonly email: string
  readonly password: Redacted.Redacted
  readonly name?: string | undefined
  readonly referralCode?: string | undefined
}

export class Registration extends Effect.Service<Registration>()("@berth/Registration", {
  scoped: Effect.gen(function* () {
    const users = yield* UserRepository
    const hasher = yield* PasswordHasher
    const common = yield* CommonPasswords
    const verifications = yield* EmailVerifications
    const mailed = yield* MailedTokens
    const referrals = yield* Referrals
    const events = yield* DomainEvents
    const ids = yield* IdGenerator
    const tokens = yield* Tokens
    const transaction = yield* Transaction
    const policy = yield* AccountPolicy
    const attempts = yield* RcMap.make({
      lookup: (_email: string) => Effect.all({ semaphore: Effect.makeSemaphore(1), isTaken: Ref.make(false) })
    })

    /**
     * Serializes registrations of an address in this process, so that duplicates skip the expensive hash. The
     * repository enforces uniqueness.
     */
    const oncePerEmail =
      (email: Email) =>
      <A, E, R>(work: Effect.Effect<A, E, R>) =>
        Effect.gen(function* () {
          const { isTaken, semaphore } = yield* RcMap.get(attempts, normalizeEmail(email))
          const attempt = Effect.gen(function* () {
            if (yield* isTaken) return yield* new EmailAlreadyTaken()
            return yield* Effect.zipLeft(work, Ref.set(isTaken, true))
          })
          return yield* semaphore.withPermits(1)(attempt)
        }).pipe(Effect.scoped)

    const create = Effect.fnUntraced(function* (newcomer: {
      readonly email: Email
      readonly name: string
      readonly password: Redacted.Redacted
      readonly referrer: Option.Option<User>
    }) {
      const { email, name, password, referrer } = newcomer
      if (Option.isSome(yield* users.findByEmail(email))) return yield* new EmailAlreadyTaken()
      // The previous address of another account stays reserved, so that its change can be undone.
      if (Option.isSome(yield* mailed.findByEmail("email-change-undo", email))) return yield* new EmailAlreadyTaken()
      const id = UserId.make(yield* ids.next("usr"))
      const passwordHash = yield* hasher.hash(password)
      const referralCode = makeReferralCode(Redacted.value(yield* tokens.make))
      return yield* transaction.run(
        Effect.gen(function* () {
          const created = yield* users.insert({ id, email, name, passwordHash, referralCode })
          yield* events.append({ kind: "user.created", data: summarizeUser(created) }, id)
          if (Option.isSome(referrer)) yield* referrals.recordReferral(referrer.value, created)
          yield* verifications.start(created)
          return created
        })
      )
    })

    /**
     * Creates the account and mails a verification link, without a session. A valid referral code credits both users.
     */
    const register = Effect.fn("Registration.register")(function* (request: RegistrationRequest) {
      const givenName = Option.filter(Option.fromNullable(request.name), (text) => text.trim() !== "")
      const givenCode = Option.filter(Option.fromNullable(request.referralCode), (text) => text !== "")
      const { email, name, password, referrer } = yield* requireFields({
        email: parseAccountEmail(request.email, policy),
        name: Either.transposeOption(Option.map(givenName, validateDisplayName)),
        password: validatePassword(common, request.password),
        referrer: yield* Effect.either(Effect.transposeMapOption(givenCode, referrals.findReferrer))
      })
      const user = yield* oncePerEmail(email)(
        create({ email, name: Option.getOrElse(name, () => email), password, referrer })
      )
      yield* Effect.annotateCurrentSpan("user.id", user.id)
      yield* Effect.logInfo("User registered").pipe(Effect.annotateLogs("userId", user.id))
      return user
    })

    return { register }
  })
}) {}
