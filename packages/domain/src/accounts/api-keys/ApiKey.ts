import { DateTime, Duration, Option, Schema } from "effect"
import { ApiKeyId, ApiKeyScope } from "../../sessions/ApiKeyScope.ts"
import { UserId } from "../../shared/UserId.ts"
import { parseDisplayName } from "../profile/DisplayName.ts"

/** Prefix of every key; distinguishes keys from other bearer tokens and lets secret scanners detect them. */
export const apiKeyPrefix = "berth_"

/** Length of the stored beginning of a key, by which its owner recognizes it; the rest is never stored. */
export const apiKeyHintLength = apiKeyPrefix.length + 4

export const maximumApiKeysPerUser = 50

/** Minimum interval between two records of a key's use, so that most requests cost no write. */
export const apiKeyUseInterval = Duration.minutes(1)

const maximumApiKeyNameLength = 64

/** Trimmed; the characters are those of a display name. */
export const ApiKeyName = Schema.Trim.pipe(
  Schema.filter((name) => Option.isSome(parseDisplayName(name)) && [...name].length <= maximumApiKeyNameLength, {
    message: () => `must have 1 to ${maximumApiKeyNameLength} visible characters`
  })
).annotations({ jsonSchema: { type: "string", minLength: 1, maxLength: maximumApiKeyNameLength } })

export const ApiKeyScopes = Schema.NonEmptyArray(ApiKeyScope)

/** Only the hash of the key is stored. */
export const ApiKey = Schema.Struct({
  id: ApiKeyId,
  userId: UserId,
  name: Schema.String,
  scopes: Schema.Array(ApiKeyScope),
  /** The first `apiKeyHintLength` characters. */
  hint: Schema.String,
  createdAt: Schema.DateTimeUtcFromSelf,
  /** Null: until it is revoked. */
  expiresAt: Schema.NullOr(Schema.DateTimeUtcFromSelf),
  /** Precise to `apiKeyUseInterval`. */
  lastUsedAt: Schema.NullOr(Schema.DateTimeUtcFromSelf)
})
export type ApiKey = typeof ApiKey.Type

export const isUseDue = ({ lastUsedAt }: Pick<ApiKey, "lastUsedAt">, now: DateTime.Utc): boolean =>
  lastUsedAt === null || DateTime.greaterThanOrEqualTo(now, DateTime.addDuration(lastUsedAt, apiKeyUseInterval))
