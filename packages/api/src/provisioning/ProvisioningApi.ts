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

/** POST /api/provision */
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
    "Without an account: makes an agent on messaging channels with a live stream. Until an account claims it, the limits of the free plan apply."
  )

const ClaimedAgentAnswer = Schema.Struct({
  ...ProvisionedAgentAnswer.fields,
  liveStream: Schema.NullOr(RotatedLiveStreamAnswer),
  shared: Schema.Struct({
    channels: Schema.Array(MessagingPlatform).annotations({
      description: "Channels with a token of the previous holder"
    }),
    modelKeys: Schema.Array(Schema.Literal(...modelCredentialKeys)).annotations({
      description: "Model keys of the previous holder"
    })
  })
}).annotations({ identifier: "ClaimedAgent" })

/** POST /api/agents/claim */
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
    "Moves an agent that was provisioned with channel tokens to the caller's account, with its channels, live stream, conversations and model keys. The stream key is replaced; `liveStream` is null without a stream, and while its provider does not answer. `shared` names the secrets that the previous holder still has, for the caller to replace."
  )

export class ProvisioningApi extends HttpApiGroup.make("provisioning")
  .add(provision)
  .add(claim)
  .addError(InternalFailureBody) {}
