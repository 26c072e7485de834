import { apiKeyUseInterval, isUseDue } from "@berth/domain/accounts/api-keys/ApiKey"
import { authorizeApiKey, validateApiKey } from "@berth/domain/accounts/api-keys/ApiKeyAuthorization"
import { AdminScopeNotAllowed, ApiKeyExpiryInvalid } from "@berth/domain/accounts/api-keys/ApiKeyErrors"
import { ApiKeyScope, ScopeMissing } from "@berth/domain/sessions/ApiKeyScope"
import { AuthenticationRequired } from "@berth/domain/sessions/SessionErrors"
import { assert, describe, it } from "@effect/vitest"
import { DateTime, Duration, Either, FastCheck } from "effect"

const now = DateTime.unsafeMake("2026-03-01T12:00:00Z")
const at = (seconds: number) => DateTime.add(now, { seconds })

const scope = FastCheck.constantFrom(...ApiKeyScope.literals)
const scopes = FastCheck.uniqueArray(scope, { minLength: 1 })
const expiry = FastCheck.oneof(FastCheck.constant(null), FastCheck.integer({ min: -100_000, max: 100_000 }).map(at))

describe("authorizeApiKey", () => {
  it("authorizeApiKey allows exactly unexpired keys with the required scope, and admin to administrators", () => {
    FastCheck.assert(
      FastCheck.property(scopes, expiry, scope, FastCheck.boolean(), (held, expiresAt, required, isAdministrator) => {
        const decision = authorizeApiKey({ scopes: held, expiresAt }, required, { now, isAdministrator })
        const isExpired = expiresAt !== null && DateTime.lessThanOrEqualTo(expiresAt, now)
        const isAllowed = held.includes(required) && (required !== "admin" || isAdministrator)
        assert.deepStrictEqual(
          decision,
          isExpired
            ? Either.left(new AuthenticationRequired())
            : isAllowed
              ? Either.void
              : Either.left(new ScopeMissing({ required }))
        )
      })
    )
  })

  it("authorizeApiKey refuses every key where no scope is declared", () => {
    FastCheck.assert(
      FastCheck.property(scopes, FastCheck.boolean(), (held, isAdministrator) => {
        const decision = authorizeApiKey({ scopes: held, expiresAt: null }, null, { now, isAdministrator })
        assert.deepStrictEqual(decision, Either.left(new ScopeMissing({ required: null })))
      })
    )
  })
})

describe("validateApiKey", () => {
  it("validateApiKey accepts what authorizeApiKey allows now, for each of its scopes", () => {
    FastCheck.assert(
      FastCheck.property(scopes, expiry, FastCheck.boolean(), (held, expiresAt, isAdministrator) => {
        const key = { scopes: held, expiresAt }
        const isUsable = held.every((one) => Either.isRight(authorizeApiKey(key, one, { now, isAdministrator })))
        assert.strictEqual(Either.isRight(validateApiKey(key, { now, isAdministrator })), isUsable)
      })
    )
  })

  it("validateApiKey names the expiry before the scope", () => {
    const facts = { now, isAdministrator: false }
    assert.deepStrictEqual(
      validateApiKey({ scopes: ["admin"], expiresAt: now }, facts),
      Either.left(new ApiKeyExpiryInvalid())
    )
    assert.deepStrictEqual(
      validateApiKey({ scopes: ["admin"], expiresAt: at(1) }, facts),
      Either.left(new AdminScopeNotAllowed())
    )
  })
})

describe("isUseDue", () => {
  it("isUseDue is true without a last use, and from one interval after it", () => {
    const seconds = Duration.toSeconds(apiKeyUseInterval)
    assert.isTrue(isUseDue({ lastUsedAt: null }, now))
    FastCheck.assert(
      FastCheck.property(FastCheck.integer({ min: 0, max: 1_000 }), (passed) => {
        assert.strictEqual(isUseDue({ lastUsedAt: now }, at(passed)), passed >= seconds)
      })
    )
  })
})
