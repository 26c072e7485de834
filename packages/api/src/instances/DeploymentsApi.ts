import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { AgentId } from "@berth/domain/shared/AgentId"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { AgentConfigChange } from "../agents/AgentConfigChange.ts"
import {
  AgentNotFoundBody,
  ConfigurationNotAppliedBody,
  CustomModelMissingBody,
  ModelNotAllowedBody,
  PlanFeatureRequiredBody,
  PlanLimitReachedBody,
  SkillSelectionInvalidBody
} from "../agents/AgentErrorBodies.ts"
import { payload } from "../http/Payload.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { IdempotencyErrors } from "../limits/IdempotencyErrors.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { PrincipalAuth } from "../sessions/SessionAuth.ts"
import { BackendUnavailableBody, InstanceUnavailableBody } from "./LifecycleErrorBodies.ts"

const deploymentsPath = "/api/deployments"

export const Deployment = Schema.Struct({
  id: Schema.String.annotations({ description: "The id of the agent's deployment, dep_…; always the same" }),
  agentId: AgentId,
  subdomain: Schema.String,
  url: Schema.String,
  status: AgentStatus,
  runtimeVersion: Schema.NullOr(Schema.String)
}).annotations({ identifier: "Deployment" })

/**
 * Stores `config` as PUT /api/agents/:id/config does, then starts the agent and waits until it runs. 201 if this
 * request started it, 200 if it was running. Other agents of the instance are unchanged.
 */
const deploy = HttpApiEndpoint.post("deploy", deploymentsPath)
  .setPayload(payload({ agentId: AgentId, config: Schema.optionalWith(AgentConfigChange, { nullable: true }) }))
  .addSuccess(Deployment)
  .addSuccess(Deployment, { status: 201 })
  .addError(RateLimitExceededBody)
  .addError(AgentNotFoundBody)
  .addError(ModelNotAllowedBody)
  .addError(CustomModelMissingBody)
  .addError(SkillSelectionInvalidBody)
  .addError(PlanFeatureRequiredBody)
  .addError(ConfigurationNotAppliedBody)
  .addError(PlanLimitReachedBody)
  .addError(InstanceUnavailableBody)
  .addError(BackendUnavailableBody)
  .addError(IdempotencyErrors)
  .middleware(PrincipalAuth)
  .annotate(OpenApi.Summary, "Deploy an agent and wait until it runs")

export class DeploymentsApi extends HttpApiGroup.make("deployments")
  .add(deploy)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .addError(InternalFailureBody) {}
