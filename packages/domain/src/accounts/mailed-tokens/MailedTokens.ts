import { DateTime, Effect, Option, type Redacted } from "effect"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { Digests, hashSecret } from "../../secrets/Digests.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import type { Email } from "../../shared/Email.ts"
import type { User } from "../../shared/User.ts"
import { mailedTokenLifetimes, type MailedTokenPurpose } from "./MailedToken.ts"
import { MailedTokenRepository } from "./MailedTokenRepository.ts"
import type { UserId } from "../../shared/UserId.ts"

/** Tokens in mailed links. A user has one live token of each purpose; only its hash is stored. */
export class MailedTokens extends Effect.Service<MailedTokens>()("@berth/MailedTokens", {
  effect: Effect.gen(function* () {
    const repository = yield* MailedTokenRepository
    const tokens = yield* Tokens
    const digests = yield* Digests
    const ids = yield* IdGenerator

    const make = Effect.fnUntraced(function* (
      purpose: MailedTokenPurpose,
      { email, id: userId }: Pick<User, "email" | "id">,
      requestId: string
    ) {
      const token = yield* tokens.make
      const expiresAt = DateTime.addDuration(yield* DateTime.now, mailedTokenLifetimes[purpose])
      return { token, expiresAt, stored: { userId, purpose, requestId, tokenHash: hashSecret(digests, token), email } }
    })

    /** Issues a token for the user's address and replaces the previous one. Joins the running transaction. */
    const issue = Effect.fn("MailedTokens.issue")(function* (
      purpose: MailedTokenPurpose,
      user: Pick<User, "email" | "id">
    ) {
      const { expiresAt, stored, token } = yield* make(purpose, user, yield* ids.next("job"))
      yield* repository.replace(stored, expiresAt)
      return token
    })

    /** As `issue`, for a request that can be repeated: none if this request or a later one already has a token. */
    const issueForRequest = Effect.fn("MailedTokens.issueForRequest")(function* (
      purpose: MailedTokenPurpose,
      user: Pick<User, "email" | "id">,
      requestId: string
    ) {
      const { expiresAt, stored, token } = yield* make(purpose, user, requestId)
      return (yield* repository.replaceIfNewer(stored, expiresAt)) ? Option.some(token) : Option.none()
    })

    /** Returns user, address and time of a live token. */
    const find = Effect.fn("MailedTokens.find")(function* (purpose: MailedTokenPurpose, token: Redacted.Redacted) {
      const stored = yield* repository.find(purpose, hashSecret(digests, token), yield* DateTime.now)
      return Option.map(stored, ({ email, expiresAt, userId }) => ({
        email,
        userId,
        issuedAt: DateTime.subtractDuration(expiresAt, mailedTokenLifetimes[purpose])
      }))
    })

    /** As `find`, and consumes the token. Joins the running transaction; concurrent calls wait for its end. */
    const consume = Effect.fn("MailedTokens.consume")(function* (
      purpose: MailedTokenPurpose,
      token: Redacted.Redacted
    ) {
      return yield* repository.consume(purpose, hashSecret(digests, token), yield* DateTime.now)
    })

    const findByUser = Effect.fn("MailedTokens.findByUser")(function* (purpose: MailedTokenPurpose, userId: UserId) {
      return yield* repository.findByUser(purpose, userId, yield* DateTime.now)
    })

    const findByEmail = Effect.fn("MailedTokens.findByEmail")(function* (purpose: MailedTokenPurpose, email: Email) {
      return yield* repository.findByEmail(purpose, email, yield* DateTime.now)
    })

    const revoke = repository.revoke

    return { issue, issueForRequest, find, findByUser, findByEmail, consume, revoke }
  })
}) {}
