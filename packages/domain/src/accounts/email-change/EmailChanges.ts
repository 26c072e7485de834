import { Data, Effect, Option, type Redacted } from "effect"
import { DomainEvents } from "../../events/DomainEvents.ts"
import { MailOutbox } from "../../mail/MailOutbox.ts"
import { summarizeUser, type User } from "../../shared/User.ts"
import { composeEmailChangedMail } from "../AccountMails.ts"
import { AccountPolicy, isSyntheticEmail } from "../AccountPolicy.ts"
import { MailedTokens } from "../mailed-tokens/MailedTokens.ts"
import { UserRepository } from "../UserRepository.ts"

/** The link is unknown, expired or used. */
class EmailChangeLinkInvalid extends Data.TaggedError("EmailChangeLinkInvalid")<object> {}

const purpose = "email-change-undo"

/** Protection of the previous verified address for seven days after a change. */
export class EmailChanges extends Effect.Service<EmailChanges>()("@berth/EmailChanges", {
  effect: Effect.gen(function* () {
    const users = yield* UserRepository
    const mailed = yield* MailedTokens
    const mails = yield* MailOutbox
    const events = yield* DomainEvents
    const policy = yield* AccountPolicy

    /** Notifies the previous address. Joins the running transaction, which holds the lock on the user. */
    const announce = Effect.fn("EmailChanges.announce")(function* (before: User) {
      if (isSyntheticEmail(before.email, policy)) return
      // Later changes within the seven days can be an attacker's, so the first verified address keeps its link.
      const isProtected = before.emailVerifiedAt !== null && Option.isNone(yield* mailed.findByUser(purpose, before.id))
      const token = isProtected ? Option.some(yield* mailed.issue(purpose, before)) : Option.none()
      yield* mails.append(composeEmailChangedMail(before.email, policy.appUrl, token), before.id)
    })

    /**
     * Restores the previous address as verified and revokes mailed links. Returns the user and the time of the change.
     * Joins the running transaction.
     */
    const restore = Effect.fn("EmailChanges.restore")(function* (token: Redacted.Redacted) {
      const invalid = () => new EmailChangeLinkInvalid()
      const { email, issuedAt, userId } = yield* Effect.mapError(yield* mailed.find(purpose, token), invalid)
      // Lock order: users before tokens.
      yield* Effect.mapError(yield* users.findForUpdate(userId), invalid)
      yield* Effect.mapError(yield* mailed.consume(purpose, token), invalid)
      const restored = yield* Effect.mapError(yield* users.update(userId, { email }), invalid)
      yield* events.append({ kind: "user.updated", data: { ...summarizeUser(restored), changed: ["email"] } }, userId)
      yield* users.markEmailVerified(userId)
      yield* mailed.revoke(userId, "email-verification")
      return { userId, changedAt: issuedAt }
    })

    return { announce, restore }
  })
}) {}
