import { SocialIdentityUnavailable, SocialTokenRejected } from "@berth/domain/signin/social/SocialIdentity"
import { RefreshTokenInvalid } from "@berth/domain/signin/social/SocialSessions"
import { TokenBalanceInsufficient } from "@berth/domain/signin/social/SocialSignIn"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "@effect/platform"
import { Schema } from "effect"
import { GatingCheckFailedBody } from "../../gating/GatingApi.ts"
import { errorClassSchema, errorBody, errorFields } from "../../http/ErrorBody.ts"
import { payload, SecretText } from "../../http/Payload.ts"
import { InternalFailureBody } from "../../http/TransportErrors.ts"
import { SignInLimit, RateLimitExceededBody } from "../../limits/RateLimits.ts"

export const SocialTokenRejectedBody = errorBody(SocialTokenRejected, {
  status: 401,
  code: "id_token_refused",
  error: "Invalid ID token",
  message: "fidToken is missing, too old, for another service, or not signed by the social identity network.",
  read: () => new SocialTokenRejected({ reason: "it is for the service to know" })
})
export const SocialIdentityUnavailableBody = errorBody(SocialIdentityUnavailable, {
  status: 500,
  code: "verification_failed",
  error: "Verification failed",
  message: "The social identity network's keys cannot be had, so nothing is known of the token. Try again in a moment.",
  read: () => new SocialIdentityUnavailable({ reason: "it is for the service to know" })
})
export const RefreshTokenInvalidBody = errorBody(RefreshTokenInvalid, {
  status: 401,
  code: "refresh_token_invalid",
  error: "Invalid refresh token",
  message: "refreshToken is not a session token, is over, or was exchanged before. Sign in again.",
  read: () => new RefreshTokenInvalid()
})

/** 403, with what would open the gate. */
export const TokenBalanceInsufficientBody = Schema.transform(
  Schema.Struct({
    ...errorFields("gating_failed"),
    required: Schema.String.annotations({ description: "The gating token's symbol" }),
    minBalance: Schema.String.annotations({ description: "In the token's smallest units" })
  }).annotations({ identifier: "GatingFailed" }),
  errorClassSchema(TokenBalanceInsufficient),
  {
    strict: true,
    decode: ({ minBalance, required }) => new TokenBalanceInsufficient({ required, minBalance: BigInt(minBalance) }),
    encode: ({ minBalance, required }) => ({
      error: "Token gating failed",
      message: `This address does not hold enough ${required}.`,
      code: "gating_failed" as const,
      required,
      minBalance: minBalance.toString()
    })
  }
).annotations(HttpApiSchema.annotations({ status: 403, description: "Token gating failed" }))

const SessionToken = Schema.Redacted(Schema.String).annotations({
  description: "Base64. For `Authorization: Bearer` in place of the session cookie, and for the refresh"
})

export const SocialSignedIn = Schema.Struct({
  success: Schema.Literal(true),
  sessionToken: SessionToken,
  address: Schema.NullOr(Schema.String).annotations({ description: "As it was given; null when it was not" }),
  message: Schema.String,
  tokenGated: Schema.Boolean.annotations({ description: "Whether the address opened the gate" }),
  accessLevel: Schema.Literal("basic", "premium")
}).annotations({ identifier: "SocialSignedIn" })

export const SocialRefreshed = Schema.Struct({
  success: Schema.Literal(true),
  sessionToken: SessionToken,
  expiresIn: Schema.Int.annotations({ description: "Seconds" }),
  message: Schema.String
}).annotations({ identifier: "SocialRefreshed" })

/** What an endpoint takes and gives, for people. */
export const EndpointMetadata = Schema.Struct({
  endpoint: Schema.String,
  method: Schema.Literal("POST"),
  description: Schema.String,
  body: Schema.Record({ key: Schema.String, value: Schema.String }),
  response: Schema.Record({ key: Schema.String, value: Schema.String })
}).annotations({ identifier: "EndpointMetadata" })

const verifyPath = "/api/auth/socialIdentity/verify"
const refreshPath = "/api/auth/socialIdentity/refresh"

// A token that is missing is refused like one that is wrong, 401, so nothing about it is refused earlier.
const verify = HttpApiEndpoint.post("verify", verifyPath)
  .setPayload(
    payload({
      fidToken: Schema.optional(
        Schema.Unknown.annotations({ description: "The network's ID token, a JWT", jsonSchema: { type: "string" } })
      ),
      address: Schema.optional(
        Schema.Unknown.annotations({ description: "For token gating", jsonSchema: { type: "string" } })
      )
    })
  )
  .addSuccess(SocialSignedIn)
  .addError(SocialTokenRejectedBody)
  .addError(TokenBalanceInsufficientBody)
  .addError(SocialIdentityUnavailableBody)
  .addError(GatingCheckFailedBody)
  .addError(RateLimitExceededBody)
  .middleware(SignInLimit)

const aboutVerify = HttpApiEndpoint.get("aboutVerify", verifyPath).addSuccess(EndpointMetadata)

/** POST /api/auth/socialIdentity/refresh: the next token for this one, which is then over. */
const refresh = HttpApiEndpoint.post("refresh", refreshPath)
  .setPayload(payload({ refreshToken: SecretText }))
  .addSuccess(SocialRefreshed)
  .addError(RefreshTokenInvalidBody)

const aboutRefresh = HttpApiEndpoint.get("aboutRefresh", refreshPath).addSuccess(EndpointMetadata)

export class SocialIdentityApi extends HttpApiGroup.make("socialIdentity")
  .add(verify)
  .add(aboutVerify)
  .add(refresh)
  .add(aboutRefresh)
  .addError(InternalFailureBody) {}
