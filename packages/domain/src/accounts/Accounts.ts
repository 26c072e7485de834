import { Effect, Option, RcMap, Redacted, Ref } from "effect"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { MatchCardEventsJob } from "../jobs/JobKind.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { RateLimiter } from "../limits/RateLimiter.ts"
import { MailOutbox } from "../mail/MailOutbox.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { Tokens } from "../secrets/Tokens.ts"
import type { SessionId } from "../sessions/Session.ts"
import { Sessions } from "../sessions/Sessions.ts"
import { EmailInvalid, EmailAlreadyTaken, DisplayNameInvalid, UserNotFound } from "./AccountErrors.ts"
import { composeEmailChangedMail } from "./AccountMails.ts"
import { AccountPolicy, isSyntheticEmail } from "./AccountPolicy.ts"
import { validatePassword } from "./password/PasswordPolicy.ts"
import { CommonPasswords } from "./password/CommonPasswords.ts"
import { PasswordCredentials } from "./password/PasswordCredentials.ts"
import { parseDisplayName } from "./profile/DisplayName.ts"
import { type Email, normalizeEmail, parseEmail } from "../shared/Email.ts"
import { EmailVerifications } from "./email-verification/EmailVerifications.ts"
import { PasswordHasher } from "./password/Password.ts"
import { makeReferralCode } from "./referrals/ReferralCode.ts"
import { Referrals } from "./referrals/Referrals.ts"
import { type NotificationPreferences, type User, UserId } from "../shared/User.ts"
import { type UserChanges, UserRepository } from "./UserRepository.ts"

export interface Registration {
  readonly email: string
  readonly password: Redacted.Redacted
  readonly name?: string | undefined
  readonly referralCode?: string | undefined
}

export interface SettingsChange {
  readonly name?: string | undefined
  readonly email?: string | undefined
  readonly notifications?: Partial<NotificationPreferences> | undefined
}

/** Sign-up and the profile. */
export class Accounts extends Effect.Service<Accounts>()("@berth/Accounts", {
  scoped: Effect.gen(function* () {
    const users = yield* UserRepository
    const hasher = yield* PasswordHasher
    const common = yield* CommonPasswords
    const verifications = yield* EmailVerifications
    const credentials = yield* PasswordCredentials
    const referrals = yield* Referrals
    const post = yield* MailOutbox
    const outbox = yield* Outbox
    const limiter = yield* RateLimiter
    const ids = yield* IdGenerator
    const tokens = yield* Tokens
    const transaction = yield* Transaction
    const rules = yield* AccountPolicy
    const sessions = yield* Sessions
    const turns = yield* RcMap.make({
      lookup: (_email: string) => Effect.all({ turn: Effect.makeSemaphore(1), isTaken: Ref.make(false) })
    })

    /**
     * Who registers with the same address as others does it after them in this process, and not at all once one of them has:
     * hashing costs too much to do it for nothing. It spares work only; what lets one of them win is the repository.
     */
    const inTurn =
      (email: Email) =>
      <A, E, R>(work: Effect.Effect<A, E, R>) =>
        Effect.gen(function* () {
          const { isTaken, turn } = yield* RcMap.get(turns, normalizeEmail(email))
          const whenItIsOurs = Effect.gen(function* () {
            if (yield* isTaken) return yield* new EmailAlreadyTaken()
            return yield* Effect.zipLeft(work, Ref.set(isTaken, true))
          })
          return yield* turn.withPermits(1)(whenItIsOurs)
        }).pipe(Effect.scoped)

    const readEmail = (text: string) =>
      Option.match(
        Option.filter(parseEmail(text), (email) => !isSyntheticEmail(email, rules)),
        { onNone: () => Effect.fail(new EmailInvalid()), onSome: Effect.succeed }
      )
    const readName = (text: string) =>
      Option.match(parseDisplayName(text), {
        onNone: () => Effect.fail(new DisplayNameInvalid()),
        onSome: Effect.succeed
      })

    /** Somebody may have paid by card under this address before. An address that must be confirmed first is looked at then. */
    const matchCardEvents = ({ id }: User) =>
      rules.verifiedEmailsOnly ? Effect.void : outbox.append(MatchCardEventsJob, { userId: id }, id)

    const create = Effect.fnUntraced(function* (newcomer: {
      readonly email: Email
      readonly name: string
      readonly password: Redacted.Redacted
      readonly referrer: Option.Option<User>
    }) {
      const { email, name, password, referrer } = newcomer
      if (Option.isSome(yield* users.findByEmail(email))) return yield* new EmailAlreadyTaken()
      const id = UserId.make(yield* ids.next("usr"))
      const passwordHash = yield* hasher.hash(password)
      const referralCode = makeReferralCode(Redacted.value(yield* tokens.make))
      return yield* transaction.run(
        Effect.gen(function* () {
          const created = yield* users.insert({ id, email, name, passwordHash, referralCode })
          if (Option.isSome(referrer)) yield* referrals.recordReferral(referrer.value, created)
          yield* verifications.send(created)
          yield* matchCardEvents(created)
          return created
        })
      )
    })

    /** Makes the account, mails a link that confirms its address, and signs nobody in. A valid referral credits both sides in the same transaction. */
    const register = Effect.fn("Accounts.register")(function* (registration: Registration) {
      const email = yield* readEmail(registration.email)
      const name =
        registration.name === undefined || registration.name.trim() === "" ? email : yield* readName(registration.name)
      const password = yield* validatePassword(common, registration.password)
      const referrer =
        registration.referralCode === undefined || registration.referralCode === ""
          ? Option.none()
          : Option.some(yield* referrals.findReferrer(registration.referralCode))
      const user = yield* inTurn(email)(create({ email, name, password, referrer }))
      yield* Effect.annotateCurrentSpan("user.id", user.id)
      yield* Effect.logInfo("A user registered").pipe(Effect.annotateLogs("userId", user.id))
      return user
    })

    /** Tells both addresses of a change, and takes back what was mailed to the old one. */
    const followEmail = Effect.fnUntraced(function* (before: User, after: User) {
      yield* credentials.revokeResetLinks(after.id)
      yield* verifications.send(after)
      yield* matchCardEvents(after)
      if (!isSyntheticEmail(before.email, rules))
        yield* post.append(composeEmailChangedMail(before.email, rules.appUrl), after.id)
    })

    /** A new e-mail address counts as unconfirmed until the link that is mailed there is opened; the old one is told. */
    const changeSettings = Effect.fn("Accounts.changeSettings")(function* (
      { sessionId, user: { id } }: { readonly user: User; readonly sessionId: SessionId },
      change: SettingsChange
    ) {
      const changes: UserChanges = {
        ...(change.name === undefined ? {} : { name: yield* readName(change.name) }),
        ...(change.email === undefined ? {} : { email: yield* readEmail(change.email) }),
        ...(change.notifications === undefined ? {} : { notifications: change.notifications })
      }
      const isAnother = ({ email }: User) =>
        changes.email !== undefined && normalizeEmail(changes.email) !== normalizeEmail(email)
      if (changes.email !== undefined && Option.exists(yield* users.find(id), isAnother))
        yield* limiter.take("email-verification", id)
      return yield* transaction.run(
        Effect.gen(function* () {
          const before = yield* Effect.mapError(yield* users.findForUpdate(id), () => new UserNotFound())
          const after = yield* Effect.mapError(yield* users.update(id, changes), () => new UserNotFound())
          // Mails with ways into the account go to this address.
          if (change.email !== undefined) yield* sessions.lock(sessionId)
          if (isAnother(before)) yield* followEmail(before, after)
          return after
        })
      )
    })

    return { register, changeSettings }
  })
}) {}
