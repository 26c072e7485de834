import { Effect, Option, Struct } from "effect"
import { DomainEvents } from "../../events/DomainEvents.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { SessionId } from "../../sessions/Session.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import { normalizeEmail } from "../../shared/Email.ts"
import { type NotificationPreferences, summarizeUser, type User } from "../../shared/User.ts"
import { EmailAlreadyTaken, requireFields, UserNotFound } from "../AccountErrors.ts"
import { AccountPolicy, parseAccountEmail } from "../AccountPolicy.ts"
import { EmailChanges } from "../email-change/EmailChanges.ts"
import { EmailVerifications } from "../email-verification/EmailVerifications.ts"
import { MailedTokens } from "../mailed-tokens/MailedTokens.ts"
import { PasswordCredentials } from "../password/PasswordCredentials.ts"
import { type UserChanges, UserRepository } from "../UserRepository.ts"
import { validateDisplayName } from "./DisplayName.ts"

interface SettingsChange {
  readonly name?: string | undefined
  readonly email?: string | undefined
  readonly notifications?: Partial<NotificationPreferences> | undefined
}

export class ProfileSettings extends Effect.Service<ProfileSettings>()("@berth/ProfileSettings", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const verifications = yield* EmailVerifications
    const credentials = yield* PasswordCredentials
    const emailChanges = yield* EmailChanges
    const mailed = yield* MailedTokens
    const events = yield* DomainEvents
    const limiter = yield* RateLimiter
    const transaction = yield* Transaction
    const policy = yield* AccountPolicy
    const sessions = yield* Sessions

    /** Revokes links that were mailed to the previous address, and notifies both addresses. */
    const replaceEmail = Effect.fnUntraced(function* (before: User, after: User) {
      yield* credentials.revokeResetLinks(after.id)
      yield* verifications.start(after)
      yield* emailChanges.announce(before)
    })

    /** Applies the change and returns the user. A new email address is unverified until its mailed link is opened. */
    const change = Effect.fn("ProfileSettings.change")(function* (
      { sessionId, user: { email: current, id } }: { readonly user: User; readonly sessionId: SessionId },
      requested: SettingsChange
    ) {
      // A derived address, of a wallet for example, is no valid new one.
      const email = requested.email?.trim() === current ? undefined : requested.email
      const changes: UserChanges = {
        ...(yield* requireFields({
          ...(requested.name === undefined ? {} : { name: validateDisplayName(requested.name) }),
          ...(email === undefined ? {} : { email: parseAccountEmail(email, policy) })
        })),
        ...(requested.notifications === undefined ? {} : { notifications: requested.notifications })
      }
      const replacesEmailOf = ({ email }: User) =>
        changes.email !== undefined && normalizeEmail(changes.email) !== normalizeEmail(email)
      if (changes.email !== undefined && Option.exists(yield* users.find(id), replacesEmailOf))
        yield* limiter.take("email-verification", id)
      return yield* transaction.run(
        Effect.gen(function* () {
          const before = yield* Effect.mapError(yield* users.findForUpdate(id), () => new UserNotFound())
          if (changes.email !== undefined) {
            // The previous address of another account stays reserved, so that its change can be undone.
            const reserved = yield* mailed.findByEmail("email-change-undo", changes.email)
            if (Option.exists(reserved, ({ userId }) => userId !== id)) return yield* new EmailAlreadyTaken()
          }
          const after = yield* Effect.mapError(yield* users.update(id, changes), () => new UserNotFound())
          const changed = Struct.keys(changes)
          if (changed.length > 0)
            yield* events.append({ kind: "user.updated", data: { ...summarizeUser(after), changed } }, id)
          // A revoked session must not redirect recovery mails to a new address.
          if (changes.email !== undefined) yield* sessions.lock(sessionId)
          if (replacesEmailOf(before)) yield* replaceEmail(before, after)
          return after
        })
      )
    })

    return { change }
  })
}) {}
