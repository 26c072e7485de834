import {
  ChannelTokenMissing,
  ClaimCodeUnknown,
  ProvisioningFieldInvalid,
  ProvisioningUnavailable,
  UnclaimedLimitReached,
  UnclaimedLimitScope
} from "@berth/domain/provisioning/ProvisioningErrors"
import { Duration, Schema } from "effect"
import { extendedErrorBody, plainErrorBody, fieldsErrorBody } from "../http/ErrorBody.ts"
import { Issue } from "../http/RequestErrors.ts"
import { toRetryAfterSeconds } from "../limits/RateLimits.ts"

export const ChannelTokenMissingBody = plainErrorBody(ChannelTokenMissing, {
  status: 400,
  error: "Channel token missing",
  message: "Give at least one of platformAToken, platformBToken and platformCBotToken."
})
export const ProvisioningFieldInvalidBody = fieldsErrorBody(ProvisioningFieldInvalid, {
  status: 400,
  error: "Invalid field",
  message: ({ issues }) => issues.map(({ message, path }) => `${path}: ${message}`).join("; "),
  members: Schema.Struct({ issues: Schema.Array(Issue) }),
  example: {
    issues: [{ path: "platformAToken", message: "must have 1 to 8192 characters" }]
  }
})
export const UnclaimedLimitReachedBody = extendedErrorBody(
  UnclaimedLimitReached,
  Schema.Struct({
    scope: UnclaimedLimitScope,
    limit: Schema.Number,
    retryAfter: Schema.Number.annotations({ description: "Seconds" })
  }),
  {
    status: 429,
    error: "Too many unclaimed agents",
    message: ({ limit, scope }) =>
      `${limit} agents${scope === "network" ? " of your network" : ""} are waiting to be claimed, which is the limit. Claim yours, or try again later.`,
    members: ({ limit, retryAfter, scope }) => ({ scope, limit, retryAfter: toRetryAfterSeconds(retryAfter) }),
    example: new UnclaimedLimitReached({ scope: "network", limit: 10, retryAfter: Duration.minutes(10) }),
    read: (_, { limit, retryAfter, scope }) =>
      new UnclaimedLimitReached({ scope, limit, retryAfter: Duration.seconds(retryAfter) })
  }
)
export const ProvisioningUnavailableBody = plainErrorBody(ProvisioningUnavailable, {
  status: 502,
  error: "Provisioning service unavailable",
  message: "The provisioning service did not respond. Try again in a moment."
})
export const ClaimCodeUnknownBody = plainErrorBody(ClaimCodeUnknown, {
  status: 404,
  error: "Claim code not found",
  message: "code: no agent is waiting to be claimed with this code. Codes work once and expire."
})
