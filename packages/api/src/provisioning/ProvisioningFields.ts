import { ProvisioningPlan, ProvisioningProvider } from "@berth/domain/provisioning/ProvisioningRequest"
import { LiveStreamId } from "@berth/domain/provisioning/live-streams/LiveStream"
import { UserId } from "@berth/domain/shared/UserId"
import { Schema } from "effect"
import { optionalText, payload, SecretText } from "../http/Payload.ts"
import { LiveStreamsUnavailableBody } from "./live-streams/LiveStreamErrorBodies.ts"
import {
  ChannelTokenMissingBody,
  ProvisioningFieldInvalidBody,
  ProvisioningUnavailableBody,
  UnclaimedLimitReachedBody
} from "./ProvisioningErrorBodies.ts"

export const provisionPath = "/api/provision"

/** Contains the claim code for the caller if no user of platform A receives it. */
export const claimCodeHeader = "x-berth-claim-code"

const optionalSecret = Schema.optionalWith(SecretText, { nullable: true })
const removed = Schema.optional(
  Schema.Unknown.annotations({ description: "Removed; ignored and named in the Warning header" })
)

/** Ignored, never stored or forwarded. */
export const removedFields = [
  "platformBPhoneNumberId",
  "platformBBusinessAccountId",
  "platformCGuildId",
  "platformCChannelId"
] as const

export const ProvisioningBody = payload({
  platformAToken: optionalSecret,
  platformAUserId: optionalText,
  platformBToken: optionalSecret,
  platformCBotToken: optionalSecret,
  aiProvider: Schema.optionalWith(Schema.Literal(...ProvisioningProvider.literals, "gemini"), { nullable: true }),
  apiKey: optionalSecret,
  plan: Schema.optionalWith(ProvisioningPlan, { nullable: true }),
  platformBPhoneNumberId: removed,
  platformBBusinessAccountId: removed,
  platformCGuildId: removed,
  platformCChannelId: removed
})

export const ProvisioningHeaders = Schema.Struct({ "idempotency-key": Schema.optional(Schema.String) })

export const provisionedFields = {
  success: Schema.Literal(true),
  userId: UserId,
  subdomain: Schema.String,
  url: Schema.String,
  streamKey: Schema.Redacted(Schema.String),
  liveStreamId: LiveStreamId
}

export const ProvisioningErrors = Schema.Union(
  ChannelTokenMissingBody,
  ProvisioningFieldInvalidBody,
  UnclaimedLimitReachedBody,
  LiveStreamsUnavailableBody,
  ProvisioningUnavailableBody
)
