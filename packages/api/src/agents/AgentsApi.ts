import { VerificationType } from "@berth/domain/agents/AgentVerifications"
import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { ModelName, payload } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { IdempotencyErrors } from "../limits/IdempotencyErrors.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { OptionalPrincipalAuth, PrincipalAuth } from "../sessions/SessionAuth.ts"
import { AgentConfigChange } from "./AgentConfigChange.ts"
import {
  AgentNameInvalidBody,
  CustomModelMissingBody,
  ModelNotAllowedBody,
  PlanFeatureRequiredBody,
  PlanLimitReachedBody,
  SkillSelectionInvalidBody,
  SubscriptionRequiredBody
} from "./AgentErrorBodies.ts"
import { AgentOwner } from "./OwnedAgent.ts"
import { PlanId } from "@berth/domain/shared/PlanId"
import { AgentId } from "@berth/domain/shared/AgentId"

const agentFields = {
  id: AgentId,
  name: Schema.String,
  model: Schema.String,
  status: AgentStatus,
  websocketUrl: Schema.String,
  createdAt: Timestamp
}
export const AgentListItem = Schema.Struct({ ...agentFields, updatedAt: Timestamp }).annotations({
  identifier: "AgentListItem"
})
const ProvisionedAgent = Schema.Struct(agentFields).annotations({ identifier: "ProvisionedAgent" })

const AgentDetail = Schema.Struct({
  id: AgentId,
  status: AgentStatus,
  startedAt: Schema.NullOr(Timestamp),
  plan: PlanId,
  subdomain: Schema.String,
  url: Schema.String,
  runtimeVersion: Schema.NullOr(Schema.String),
  verified: Schema.Boolean,
  verificationType: Schema.NullOr(VerificationType),
  attestationUid: Schema.NullOr(Schema.String),
  verifiedAt: Schema.NullOr(Timestamp)
}).annotations({ identifier: "AgentDetail" })

/** An empty list without a credential. */
const list = HttpApiEndpoint.get("list", "/api/agents")
  .addSuccess(Schema.Struct({ agents: Schema.Array(AgentListItem), count: Schema.Int, status: Schema.Literal("ok") }))
  .middleware(OptionalPrincipalAuth)
  .annotate(OpenApi.Summary, "List the caller's agents")

const detail = HttpApiEndpoint.get("detail", "/api/agents/:id")
  .setPath(Schema.Struct({ id: AgentId }))
  .addSuccess(Schema.Struct({ agent: AgentDetail, status: Schema.Literal("ok") }))
  .middleware(AgentOwner)
  .annotate(OpenApi.Summary, "Retrieve an agent")

export const ProvisionedAgentAnswer = Schema.Struct({ success: Schema.Boolean, agent: ProvisionedAgent })

/** `Warning` names the model that answers if no configured provider serves the selected one. */
const provision = HttpApiEndpoint.post("provision", "/api/agents/provision")
  .setPayload(
    payload({
      name: Schema.String,
      model: Schema.optionalWith(ModelName, { nullable: true }),
      config: Schema.optionalWith(AgentConfigChange, { nullable: true }),
      tier: Schema.optionalWith(Schema.Literal("starter", "pro", "enterprise"), { nullable: true })
    })
  )
  .addSuccess(ProvisionedAgentAnswer, { status: 201 })
  .addError(AgentNameInvalidBody)
  .addError(ModelNotAllowedBody)
  .addError(CustomModelMissingBody)
  .addError(SkillSelectionInvalidBody)
  .addError(SubscriptionRequiredBody)
  .addError(PlanFeatureRequiredBody)
  .addError(PlanLimitReachedBody)
  .addError(IdempotencyErrors)
  .middleware(PrincipalAuth)
  .annotate(OpenApi.Summary, "Provision an agent")
  .annotate(OpenApi.Description, "`model` takes precedence over the one of `config`.")

const provisioned = HttpApiEndpoint.get("provisioned", "/api/agents/provision")
  .addSuccess(Schema.Struct({ success: Schema.Boolean, agents: Schema.Array(AgentListItem), count: Schema.Int }))
  .middleware(PrincipalAuth)
  .annotate(OpenApi.Summary, "List provisioned agents")

export class AgentsApi extends HttpApiGroup.make("agents")
  .add(list)
  .add(provision)
  .add(provisioned)
  .add(detail)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .addError(InternalFailureBody) {}
