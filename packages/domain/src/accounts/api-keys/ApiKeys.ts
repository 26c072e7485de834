import { DateTime, Effect, Option, Redacted } from "effect"
import { IdGenerator } from "../../ids/IdGenerator.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import { Digests, hashSecret } from "../../secrets/Digests.ts"
import { Tokens } from "../../secrets/Tokens.ts"
import { ApiKeyId, type ApiKeyScope } from "../../sessions/ApiKeyScope.ts"
import type { CurrentUser } from "../../sessions/CurrentUser.ts"
import { AuthenticationRequired } from "../../sessions/SessionErrors.ts"
import { Sessions } from "../../sessions/Sessions.ts"
import type { UserId } from "../../shared/UserId.ts"
import { AccessNotices } from "../access-notices/AccessNotices.ts"
import { Administrators } from "../Administrators.ts"
import { UserRepository } from "../UserRepository.ts"
import { type ApiKey, apiKeyHintLength, apiKeyPrefix, isUseDue, maximumApiKeysPerUser } from "./ApiKey.ts"
import { authorizeApiKey, validateApiKey } from "./ApiKeyAuthorization.ts"
import { ApiKeyLimitReached, ApiKeyNotFound } from "./ApiKeyErrors.ts"
import { ApiKeyRepository } from "./ApiKeyRepository.ts"

type ApiKeyDraft = Pick<ApiKey, "name" | "scopes" | "expiresAt">

/** API keys: the client holds a random secret, the service its hash. */
export class ApiKeys extends Effect.Service<ApiKeys>()("@berth/ApiKeys", {
  effect: Effect.gen(function* () {
    const repository = yield* ApiKeyRepository
    const users = yield* UserRepository
    const administrators = yield* Administrators
    const sessions = yield* Sessions
    const notices = yield* AccessNotices
    const tokens = yield* Tokens
    const digests = yield* Digests
    const ids = yield* IdGenerator
    const limiter = yield* RateLimiter
    const transaction = yield* Transaction

    /** Returns the secret, which is not stored. Requires a recent sign-in. */
    const create = Effect.fn("ApiKeys.create")(function* (
      { sessionId, user }: CurrentUser["Type"],
      { expiresAt, name, scopes }: ApiKeyDraft
    ) {
      const now = yield* DateTime.now
      yield* validateApiKey({ expiresAt, scopes }, { now, isAdministrator: administrators.includes(user) })
      yield* sessions.requireRecent(sessionId)
      yield* limiter.take("api-keys", user.id)
      const secret = Redacted.make(`${apiKeyPrefix}${Redacted.value(yield* tokens.make)}`)
      const key: ApiKey = {
        id: ApiKeyId.make(yield* ids.next("key")),
        userId: user.id,
        name,
        scopes: [...new Set(scopes)],
        hint: Redacted.value(secret).slice(0, apiKeyHintLength),
        createdAt: now,
        expiresAt,
        lastUsedAt: null
      }
      yield* transaction.run(
        Effect.gen(function* () {
          // Lock order: users before keys; the lock makes the count exact.
          if (Option.isNone(yield* users.findForUpdate(user.id))) return yield* new AuthenticationRequired()
          if ((yield* repository.countByUser(user.id)) >= maximumApiKeysPerUser)
            return yield* new ApiKeyLimitReached({ limit: maximumApiKeysPerUser })
          yield* repository.insert(key, hashSecret(digests, secret))
          yield* notices.announce(user.id, `The API key ${JSON.stringify(name)} was created.`)
          yield* sessions.lock(sessionId)
        })
      )
      yield* Effect.logInfo("API key created").pipe(
        Effect.annotateLogs({ userId: user.id, apiKeyId: key.id, scopes: key.scopes.join(" ") })
      )
      return { key, secret }
    })

    /** Returns the key and its owner; fails for an unknown or expired key and for a missing scope. */
    const authenticate = Effect.fn("ApiKeys.authenticate")(function* (
      secret: Redacted.Redacted,
      required: ApiKeyScope | null
    ) {
      const match = yield* Effect.mapError(
        yield* repository.findByHash(hashSecret(digests, secret)),
        () => new AuthenticationRequired()
      )
      const now = yield* DateTime.now
      const isAdministrator = administrators.includes(match.user)
      yield* authorizeApiKey(match.key, required, { now, isAdministrator })
      if (isUseDue(match.key, now)) yield* repository.recordUse(match.key.id, now)
      return match
    })

    const findActiveIds = Effect.fn("ApiKeys.findActiveIds")(function* (active: ReadonlyArray<ApiKeyId>) {
      return yield* repository.findActiveIds(active, yield* DateTime.now)
    })

    /** Newest first. */
    const list = Effect.fn("ApiKeys.list")(function* (
      userId: UserId,
      page: { readonly limit: number; readonly offset: number }
    ) {
      return { keys: yield* repository.listByUser(userId, page), total: yield* repository.countByUser(userId) }
    })

    const revoke = Effect.fn("ApiKeys.revoke")(function* (userId: UserId, id: ApiKeyId) {
      if (!(yield* repository.removeOwned(userId, id))) return yield* new ApiKeyNotFound()
      yield* Effect.logInfo("API key revoked").pipe(Effect.annotateLogs({ userId, apiKeyId: id }))
    })

    /** Revokes keys that were created at `since` or later. Joins the running transaction. */
    const revokeSince = repository.removeSince

    return { create, authenticate, findActiveIds, list, revoke, revokeSince }
  })
}) {}
