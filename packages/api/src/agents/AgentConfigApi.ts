import { AgentConfig } from "@berth/domain/agents/Agent"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { AgentConfigChange } from "./AgentConfigChange.ts"
import {
  AgentNotFoundBody,
  ConfigurationNotAppliedBody,
  CustomModelMissingBody,
  ModelNotAllowedBody,
  PlanFeatureRequiredBody,
  SkillSelectionInvalidBody
} from "./AgentErrorBodies.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { AgentOwner } from "./OwnedAgent.ts"
import { AgentId } from "@berth/domain/shared/AgentId"

const path = Schema.Struct({ id: AgentId })

const AgentConfigView = Schema.Struct({
  model: Schema.String,
  customModel: Schema.NullOr(Schema.String),
  ...AgentConfig.fields
}).annotations({ identifier: "AgentConfigView" })

const read = HttpApiEndpoint.get("read", "/api/agents/:id/config")
  .setPath(path)
  .addSuccess(Schema.Struct({ config: AgentConfigView, status: Schema.Literal("ok") }))
  .annotate(OpenApi.Summary, "Retrieve an agent's configuration")

/** Absent members remain unchanged; unknown members are rejected. `Warning` as for a new agent. */
const change = HttpApiEndpoint.put("change", "/api/agents/:id/config")
  .setPath(path)
  .setPayload(AgentConfigChange)
  .addSuccess(Schema.Struct({ config: AgentConfigView, status: Schema.Literal("updated") }))
  .addError(ModelNotAllowedBody)
  .addError(CustomModelMissingBody)
  .addError(SkillSelectionInvalidBody)
  .addError(PlanFeatureRequiredBody)
  .addError(AgentNotFoundBody)
  .addError(ConfigurationNotAppliedBody)
  .annotate(OpenApi.Summary, "Update an agent's configuration")

export class AgentConfigApi extends HttpApiGroup.make("agentConfig")
  .add(read)
  .add(change)
  .middlewareEndpoints(AgentOwner)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .addError(InternalFailureBody) {}
