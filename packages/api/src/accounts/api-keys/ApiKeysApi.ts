import { ApiKeyName, ApiKeyScopes, maximumApiKeysPerUser } from "@berth/domain/accounts/api-keys/ApiKey"
import {
  AdminScopeNotAllowed,
  ApiKeyExpiryInvalid,
  ApiKeyLimitReached,
  ApiKeyNotFound
} from "@berth/domain/accounts/api-keys/ApiKeyErrors"
import { ApiKeyId, ApiKeyScope } from "@berth/domain/sessions/ApiKeyScope"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { errorBody, plainErrorBody } from "../../http/ErrorBody.ts"
import { pageOf, pageQuery } from "../../http/Pagination.ts"
import { payload } from "../../http/Payload.ts"
import { Timestamp } from "../../http/Timestamp.ts"
import { InternalFailureBody } from "../../http/TransportErrors.ts"
import { RateLimitExceededBody } from "../../limits/RateLimits.ts"
import { RecentSignInRequiredBody, SessionAuth } from "../../sessions/SessionAuth.ts"

const ApiKeyNotFoundBody = plainErrorBody(ApiKeyNotFound, {
  status: 404,
  error: "API key not found",
  message: "No API key has this id. GET /api/keys lists yours."
})
const ApiKeyLimitReachedBody = errorBody(ApiKeyLimitReached, {
  status: 429,
  error: "Too many API keys",
  message: ({ limit }) => `You have ${limit} API keys. Revoke one that you no longer use.`,
  example: new ApiKeyLimitReached({ limit: maximumApiKeysPerUser }),
  read: () => new ApiKeyLimitReached({ limit: maximumApiKeysPerUser })
})
const ApiKeyExpiryInvalidBody = plainErrorBody(ApiKeyExpiryInvalid, {
  status: 400,
  error: "Invalid expiry",
  message: "`expiresAt` must be in the future. Omit it for a key that does not expire."
})
const AdminScopeNotAllowedBody = plainErrorBody(AdminScopeNotAllowed, {
  status: 403,
  error: "Administrators only",
  message: "Only an administrator can create a key with the scope `admin`."
})

const keyFields = {
  id: ApiKeyId,
  name: Schema.String,
  scopes: Schema.Array(ApiKeyScope),
  hint: Schema.String.annotations({ description: "The first characters of the key" }),
  createdAt: Timestamp,
  expiresAt: Schema.NullOr(Timestamp),
  lastUsedAt: Schema.NullOr(Timestamp).annotations({ description: "Precise to a minute; null before the first use" })
}
const ListedApiKey = Schema.Struct(keyFields).annotations({ identifier: "ApiKey" })
const CreatedApiKey = Schema.Struct({
  ...keyFields,
  key: Schema.Redacted(Schema.String).annotations({ description: "For `Authorization: Bearer`; shown only once" })
}).annotations({ identifier: "CreatedApiKey" })

const list = HttpApiEndpoint.get("list", "/api/keys")
  .setUrlParams(pageQuery)
  .addSuccess(
    pageOf({
      keys: Schema.Array(ListedApiKey)
    })
  )
  .annotate(OpenApi.Summary, "List your API keys")
  .annotate(OpenApi.Description, "Newest first, including expired keys.")

export const NewApiKey = payload({
  name: ApiKeyName,
  scopes: ApiKeyScopes,
  expiresAt: Schema.optionalWith(Timestamp, { nullable: true })
})

const create = HttpApiEndpoint.post("create", "/api/keys")
  .setPayload(NewApiKey)
  .addSuccess(CreatedApiKey, { status: 201 })
  .addError(ApiKeyExpiryInvalidBody)
  .addError(AdminScopeNotAllowedBody)
  .addError(RecentSignInRequiredBody)
  .addError(ApiKeyLimitReachedBody)
  .addError(RateLimitExceededBody)
  .annotate(OpenApi.Summary, "Create an API key")
  .annotate(
    OpenApi.Description,
    `Requires a sign-in within the last ten minutes. The key is shown once. A user has at most ${maximumApiKeysPerUser} keys.`
  )

const revoke = HttpApiEndpoint.del("revoke", "/api/keys/:id")
  .setPath(Schema.Struct({ id: ApiKeyId }))
  .addSuccess(Schema.Struct({ success: Schema.Boolean }))
  .addError(ApiKeyNotFoundBody)
  .annotate(OpenApi.Summary, "Revoke an API key")
  .annotate(
    OpenApi.Description,
    "Its next request returns 401; its WebSockets and event streams end within about a second."
  )

export class ApiKeysApi extends HttpApiGroup.make("apiKeys")
  .add(list)
  .add(create)
  .add(revoke)
  .middlewareEndpoints(SessionAuth)
  .addError(InternalFailureBody) {}
