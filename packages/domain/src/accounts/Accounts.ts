import { Effect, Option, Redacted } from "effect"
import { IdGenerator } from "../ids/IdGenerator.ts"
import { Transaction } from "../persistence/Transaction.ts"
import { Tokens } from "../secrets/Tokens.ts"
import type { SessionId } from "../sessions/Session.ts"
import { Sessions } from "../sessions/Sessions.ts"
import { EmailIsInvalid, NameIsInvalid, ReferralCodeIsInvalid, UserIsUnknown } from "./AccountErrors.ts"
import { AccountRules } from "./AccountRules.ts"
import { parseDisplayName } from "./DisplayName.ts"
import { type Email, isInDomain, parseEmail } from "./Email.ts"
import { acceptPassword, PasswordHasher } from "./Password.ts"
import { parseReferralCode, referralCodeFrom } from "./Referral.ts"
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
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const hasher = yield* PasswordHasher
    const ids = yield* IdGenerator
    const tokens = yield* Tokens
    const transaction = yield* Transaction
    const rules = yield* AccountRules
    const sessions = yield* Sessions

    const isOurs = (email: Email) =>
      isInDomain(email, rules.walletEmailDomain) || isInDomain(email, rules.socialEmailDomain)
    const readEmail = (text: string) =>
      Option.match(
        Option.filter(parseEmail(text), (email) => !isOurs(email)),
        { onNone: () => Effect.fail(new EmailIsInvalid()), onSome: Effect.succeed }
      )
    const readName = (text: string) =>
      Option.match(parseDisplayName(text), { onNone: () => Effect.fail(new NameIsInvalid()), onSome: Effect.succeed })
    const findReferrer = Effect.fnUntraced(function* (text: string) {
      const code = yield* Effect.mapError(parseReferralCode(text), () => new ReferralCodeIsInvalid())
      const referrer = yield* users.findByReferralCode(code)
      return yield* Effect.mapError(referrer, () => new ReferralCodeIsInvalid())
    })

    /** Makes the account and signs nobody in. A valid referral credits both sides in the same transaction. */
    const register = Effect.fn("Accounts.register")(function* (registration: Registration) {
      const email = yield* readEmail(registration.email)
      const name =
        registration.name === undefined || registration.name.trim() === "" ? email : yield* readName(registration.name)
      const password = yield* acceptPassword(registration.password)
      const referrer =
        registration.referralCode === undefined || registration.referralCode === ""
          ? Option.none()
          : Option.some(yield* findReferrer(registration.referralCode))
      const id = UserId.make(yield* ids.next("usr"))
      const passwordHash = yield* hasher.hash(password)
      const referralCode = referralCodeFrom(Redacted.value(yield* tokens.make))
      const user = yield* transaction.run(
        Effect.gen(function* () {
          const created = yield* users.insert({ id, email, name, passwordHash, referralCode })
          if (Option.isSome(referrer)) {
            yield* users.addCredits(referrer.value.id, rules.referralCredits)
            yield* users.addCredits(created.id, rules.referralCredits)
          }
          return created
        })
      )
      yield* Effect.annotateCurrentSpan("user.id", user.id)
      yield* Effect.logInfo("A user registered").pipe(Effect.annotateLogs("userId", user.id))
      return user
    })

    const changeSettings = Effect.fn("Accounts.changeSettings")(function* (
      { sessionId, user: { id } }: { readonly user: User; readonly sessionId: SessionId },
      change: SettingsChange
    ) {
      const changes: UserChanges = {
        ...(change.name === undefined ? {} : { name: yield* readName(change.name) }),
        ...(change.email === undefined ? {} : { email: yield* readEmail(change.email) }),
        ...(change.notifications === undefined ? {} : { notifications: change.notifications })
      }
      return yield* transaction.run(
        Effect.gen(function* () {
          const user = yield* Effect.mapError(yield* users.update(id, changes), () => new UserIsUnknown())
          // Mails with ways into the account go to this address.
          if (change.email !== undefined) yield* sessions.hold(sessionId)
          return user
        })
      )
    })

    return { register, changeSettings }
  })
}) {}
