import { SocialIdentityUnavailable, SocialTokenRejected } from "@berth/domain/signin/social/SocialIdentity"
import { RefreshTokenInvalid } from "@berth/domain/signin/social/SocialSessions"
import { TokenBalanceInsufficient } from "@berth/domain/signin/social/SocialSignIn"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { GatingCheckFailedBody } from "../../gating/GatingApi.ts"
import { errorBody, plainErrorBody, extendedErrorBody } from "../../http/ErrorBody.ts"
import { AccountSuspendedBody } from "../SignInApi.ts"
import { payload, RequiredSecretText } from "../../http/Payload.ts"
import { InternalFailureBody } from "../../http/TransportErrors.ts"
import { SignInLimit, RateLimitExceededBody } from "../../limits/RateLimits.ts"

const SocialTokenRejectedBody = errorBody(SocialTokenRejected, {
  status: 401,
  error: "Invalid ID token",
  message: "`fidToken` is missing, expired, for another audience, or not signed by the social identity network.",
  read: () => new SocialTokenRejected({ reason: "withheld" })
})
const SocialIdentityUnavailableBody = errorBody(SocialIdentityUnavailable, {
  status: 500,
  error: "Verification failed",
  message: "The keys of the social identity network are unavailable. Try again in a moment.",
  read: () => new SocialIdentityUnavailable({ reason: "withheld" })
})
const RefreshTokenInvalidBody = plainErrorBody(RefreshTokenInvalid, {
  status: 401,
  error: "Invalid refresh token",
  message: "`refreshToken` is not a session token, has expired, or was exchanged before. Sign in again."
})

/** 403 with the required token and balance. */
const TokenBalanceInsufficientBody = extendedErrorBody(
  TokenBalanceInsufficient,
  Schema.Struct({
    required: Schema.String.annotations({ description: "The gating token's symbol" }),
    minBalance: Schema.String.annotations({ description: "In the token's smallest units" })
  }),
  {
    status: 403,
    error: "Token gating failed",
    message: ({ required }) => `This address does not hold enough ${required}.`,
    members: ({ minBalance, required }) => ({ required, minBalance: minBalance.toString() }),
    example: new TokenBalanceInsufficient({ required: "BERTH", minBalance: 1_000_000n }),
    read: (_, { minBalance, required }) => new TokenBalanceInsufficient({ required, minBalance: BigInt(minBalance) })
  }
)

const SessionToken = Schema.Redacted(Schema.String).annotations({
  description: "Base64; for `Authorization: Bearer` instead of the session cookie, and for the refresh"
})

const SocialSignedIn = Schema.Struct({
  success: Schema.Literal(true),
  sessionToken: SessionToken,
  address: Schema.NullOr(Schema.String).annotations({ description: "As given; null if absent" }),
  message: Schema.String,
  tokenGated: Schema.Boolean.annotations({ description: "Whether the address passed the token gate" }),
  accessLevel: Schema.Literal("basic", "premium")
}).annotations({ identifier: "SocialSignedIn" })

const SocialRefreshed = Schema.Struct({
  success: Schema.Literal(true),
  sessionToken: SessionToken,
  expiresIn: Schema.Int.annotations({ description: "Seconds" }),
  message: Schema.String
}).annotations({ identifier: "SocialRefreshed" })

/** Description of an endpoint for human readers. */
const EndpointMetadata = Schema.Struct({
  endpoint: Schema.String,
  method: Schema.Literal("POST"),
  description: Schema.String,
  body: Schema.Record({ key: Schema.String, value: Schema.String }),
  response: Schema.Record({ key: Schema.String, value: Schema.String })
}).annotations({ identifier: "EndpointMetadata" })

const verifyPath = "/api/auth/socialIdentity/verify"
const refreshPath = "/api/auth/socialIdentity/refresh"

// Accepts any type, so that a missing token is 401 like an invalid one instead of 400.
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
  .addError(AccountSuspendedBody)
  .addError(TokenBalanceInsufficientBody)
  .addError(SocialIdentityUnavailableBody)
  .addError(GatingCheckFailedBody)
  .addError(RateLimitExceededBody)
  .middleware(SignInLimit)
  .annotate(OpenApi.Summary, "Sign in with a social identity token")

const aboutVerify = HttpApiEndpoint.get("aboutVerify", verifyPath)
  .addSuccess(EndpointMetadata)
  .annotate(OpenApi.Summary, "Describe the verification of social identities")

/** Exchanges a token for its successor. */
const refresh = HttpApiEndpoint.post("refresh", refreshPath)
  .setPayload(payload({ refreshToken: RequiredSecretText }))
  .addSuccess(SocialRefreshed)
  .addError(RefreshTokenInvalidBody)
  .annotate(OpenApi.Summary, "Renew a social identity session")

const aboutRefresh = HttpApiEndpoint.get("aboutRefresh", refreshPath)
  .addSuccess(EndpointMetadata)
  .annotate(OpenApi.Summary, "Describe the renewal of social identity sessions")

export class SocialIdentityApi extends HttpApiGroup.make("socialIdentity")
  .add(verify)
  .add(aboutVerify)
  .add(refresh)
  .add(aboutRefresh)
  .addError(InternalFailureBody) {}
