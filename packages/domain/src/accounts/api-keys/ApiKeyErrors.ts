import { Data } from "effect"

export class ApiKeyNotFound extends Data.TaggedError("ApiKeyNotFound")<object> {}
/** The user has `limit` keys, expired ones included. */
export class ApiKeyLimitReached extends Data.TaggedError("ApiKeyLimitReached")<{ readonly limit: number }> {}
/** The expiry is not in the future. */
export class ApiKeyExpiryInvalid extends Data.TaggedError("ApiKeyExpiryInvalid")<object> {}
/** Only administrators create keys with the scope `admin`. */
export class AdminScopeNotAllowed extends Data.TaggedError("AdminScopeNotAllowed")<object> {}
