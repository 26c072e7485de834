import { Effect, Option, RcMap, Redacted, Ref } from "effect"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { MatchCardEvents } from "../jobs/Job.ts"
import { Outbox } from "../jobs/Outbox.ts"
import { RateLimiter } from "../limits/RateLimiter.ts"
import { Post } from "../mail/Post.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { Tokens } from "../secrets/Tokens.ts"
import type { SessionId } from "../sessions/Session.ts"
import { Sessions } from "../sessions/Sessions.ts"
import { EmailIsInvalid, EmailIsTaken, NameIsInvalid, UserIsUnknown } from "./AccountErrors.ts"
import { emailChangedMail } from "./AccountMails.ts"
import { AccountRules, isMadeUp } from "./AccountRules.ts"
import { choosePassword } from "./ChoosePassword.ts"
import { CommonPasswords } from "./CommonPasswords.ts"
import { Credentials } from "./Credentials.ts"
import { parseDisplayName } from "./DisplayName.ts"
import { type Email, emailKey, parseEmail } from "./Email.ts"
import { EmailVerifications } from "./EmailVerifications.ts"
import { PasswordHasher } from "./Password.ts"
import { referralCodeFrom } from "./Referral.ts"
import { Referrals } from "./Referrals.ts"
import { type Notifications, type User, UserId } from "./User.ts"
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
  readonly notifications?: Partial<Notifications> | undefined
}

/** Sign-up and the profile. */
export class Accounts extends Effect.Service<Accounts>()("@berth/Accounts", {
  scoped: Effect.gen(function* () {
    const users = yield* UserRepository
    const hasher = yield* PasswordHasher
    const common = yield* CommonPasswords
    const verifications = yield* EmailVerifications
    const credentials = yield* Credentials
    const referrals = yield* Referrals
    const post = yield* Post
    const outbox = yield* Outbox
    const limiter = yield* RateLimiter
    const ids = yield* IdGenerator
    const tokens = yield* Tokens
    const transaction = yield* Transaction
    const rules = yield* AccountRules
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
          const { isTaken, turn } = yield* RcMap.get(turns, emailKey(email))
          const whenItIsOurs = Effect.gen(function* () {
            if (yield* isTaken) return yield* new EmailIsTaken()
            return yield* Effect.zipLeft(work, Ref.set(isTaken, true))
          })
          return yield* turn.withPermits(1)(whenItIsOurs)
        }).pipe(Effect.scoped)

    const readEmail = (text: string) =>
      Option.match(
        Option.filter(parseEmail(text), (email) => !isMadeUp(email, rules)),
        { onNone: () => Effect.fail(new EmailIsInvalid()), onSome: Effect.succeed }
      )
    const readName = (text: string) =>
      Option.match(parseDisplayName(text), { onNone: () => Effect.fail(new NameIsInvalid()), onSome: Effect.succeed })

    /** Somebody may have paid by card under this address before. An address that must be confirmed first is looked at then. */
    const matchCardEvents = ({ id }: User) =>
      rules.verifiedEmailsOnly ? Effect.void : outbox.append(MatchCardEvents, { userId: id }, id)

    const create = Effect.fnUntraced(function* (newcomer: {
      readonly email: Email
      readonly name: string
      readonly password: Redacted.Redacted
      readonly referrer: Option.Option<User>
    }) {
      const { email, name, password, referrer } = newcomer
      if (Option.isSome(yield* users.findByEmail(email))) return yield* new EmailIsTaken()
      const id = UserId.make(yield* ids.next("usr"))
      const passwordHash = yield* hasher.hash(password)
      const referralCode = referralCodeFrom(Redacted.value(yield* tokens.make))
      return yield* transaction.run(
        Effect.gen(function* () {
          const created = yield* users.insert({ id, email, name, passwordHash, referralCode })
          if (Option.isSome(referrer)) yield* referrals.promise(referrer.value, created)
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
      const password = yield* choosePassword(common, registration.password)
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
      yield* credentials.forgetLinks(after.id)
      yield* verifications.send(after)
      yield* matchCardEvents(after)
      if (!isMadeUp(before.email, rules)) yield* post.write(emailChangedMail(before.email, rules.appUrl), after.id)
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
      const isAnother = ({ email }: User) => changes.email !== undefined && emailKey(changes.email) !== emailKey(email)
      if (changes.email !== undefined && Option.exists(yield* users.find(id), isAnother))
        yield* limiter.take("email-verification", id)
      return yield* transaction.run(
        Effect.gen(function* () {
          const before = yield* Effect.mapError(yield* users.hold(id), () => new UserIsUnknown())
          const after = yield* Effect.mapError(yield* users.update(id, changes), () => new UserIsUnknown())
          // Mails with ways into the account go to this address.
          if (change.email !== undefined) yield* sessions.hold(sessionId)
          if (isAnother(before)) yield* followEmail(before, after)
          return after
        })
      )
    })

    return { register, changeSettings }
  })
}) {}
