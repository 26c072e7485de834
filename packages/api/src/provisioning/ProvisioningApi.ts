import { modelCredentialKeys } from "@berth/domain/secrets/Credential"
import { MessagingPlatform } from "@berth/domain/shared/Channel"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { PlanLimitReachedBody } from "../agents/AgentErrorBodies.ts"
import { ProvisionedAgentAnswer } from "../agents/AgentsApi.ts"
import { payload, SecretText } from "../http/Payload.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { IdempotencyErrors } from "../limits/IdempotencyErrors.ts"
import { ProvisionLimit } from "../limits/RateLimits.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { PrincipalAuth } from "../sessions/SessionAuth.ts"
import { RotatedLiveStreamAnswer } from "./live-streams/LiveStreamsApi.ts"
import { ClaimCodeUnknownBody } from "./ProvisioningErrorBodies.ts"
import {
  provisionedFields,
  ProvisioningBody,
  ProvisioningErrors,
  ProvisioningHeaders,
  provisionPath
} from "./ProvisioningFields.ts"

export const ProvisionedAnswer = Schema.Struct(provisionedFields).annotations({ identifier: "ProvisionedChannelAgent" })

const provision = HttpApiEndpoint.post("provision", provisionPath)
  .setHeaders(ProvisioningHeaders)
  .setPayload(ProvisioningBody)
  .addSuccess(ProvisionedAnswer)
  .addError(ProvisioningErrors)
  .addError(IdempotencyErrors)
  .middleware(ProvisionLimit)
  .annotate(OpenApi.Summary, "Provision an agent with channel tokens")
  .annotate(
    OpenApi.Description,
    "Requires no account. Creates an agent on messaging channels with a live stream. Until an account claims it, the limits of the free plan apply."
  )

const ClaimedAgentAnswer = Schema.Struct({
  ...ProvisionedAgentAnswer.fields,
  liveStream: Schema.NullOr(RotatedLiveStreamAnswer),
  shared: Schema.Struct({
    channels: Schema.Array(MessagingPlatform).annotations({
      description: "Channels with tokens that the previous holder knows"
    }),
    modelKeys: Schema.Array(Schema.Literal(...modelCredentialKeys)).annotations({
      description: "Model keys that the previous holder knows"
    })
  })
}).annotations({ identifier: "ClaimedAgent" })

const claim = HttpApiEndpoint.post("claim", "/api/agents/claim")
  .setPayload(payload({ code: SecretText }))
  .addSuccess(ClaimedAgentAnswer)
  .addError(ClaimCodeUnknownBody)
  .addError(PlanLimitReachedBody)
  .middleware(PrincipalAuth)
  .annotateContext(acceptApiKeys("agents"))
  .annotate(OpenApi.Summary, "Claim an agent")
  .annotate(
    OpenApi.Description,
    "Transfers an agent provisioned with channel tokens to the caller's account, with its channels, live stream, conversations and model keys. The stream key is replaced; `liveStream` is null without a stream, and while its provider is unavailable. `shared` lists the secrets that the previous holder still knows and the caller should replace."
  )

export class ProvisioningApi extends HttpApiGroup.make("provisioning")
  .add(provision)
  .add(claim)
  .addError(InternalFailureBody) {}
