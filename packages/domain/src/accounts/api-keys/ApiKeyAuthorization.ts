import { DateTime, Either } from "effect"
import { type ApiKeyScope, ScopeMissing } from "../../sessions/ApiKeyScope.ts"
import { AuthenticationRequired } from "../../sessions/SessionErrors.ts"
import type { ApiKey } from "./ApiKey.ts"
import { AdminScopeNotAllowed, ApiKeyExpiryInvalid } from "./ApiKeyErrors.ts"

/**
 * Whether a key may call a route that requires the scope. The scope `admin` requires that the owner is still an
 * administrator.
 */
export const authorizeApiKey = (
  { expiresAt, scopes }: Pick<ApiKey, "expiresAt" | "scopes">,
  required: ApiKeyScope | null,
  { isAdministrator, now }: { readonly now: DateTime.Utc; readonly isAdministrator: boolean }
): Either.Either<void, AuthenticationRequired | ScopeMissing> => {
  if (expiresAt !== null && DateTime.lessThanOrEqualTo(expiresAt, now)) return Either.left(new AuthenticationRequired())
  const hasScope = required !== null && scopes.includes(required) && (required !== "admin" || isAdministrator)
  return hasScope ? Either.void : Either.left(new ScopeMissing({ required }))
}

/** Whether a user may create a key with these properties. */
export const validateApiKey = (
  { expiresAt, scopes }: Pick<ApiKey, "expiresAt" | "scopes">,
  { isAdministrator, now }: { readonly now: DateTime.Utc; readonly isAdministrator: boolean }
): Either.Either<void, ApiKeyExpiryInvalid | AdminScopeNotAllowed> => {
  if (expiresAt !== null && DateTime.lessThanOrEqualTo(expiresAt, now)) return Either.left(new ApiKeyExpiryInvalid())
  return scopes.includes("admin") && !isAdministrator ? Either.left(new AdminScopeNotAllowed()) : Either.void
}
