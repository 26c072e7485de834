import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { ProvisioningPlan, ProvisioningProvider } from "@berth/domain/provisioning/ProvisioningRequest"
import { AgentId } from "@berth/domain/shared/AgentId"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { InternalAuth } from "../http/InternalAuth.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { IdempotencyErrors } from "../limits/IdempotencyErrors.ts"
import {
  provisionedFields,
  ProvisioningBody,
  ProvisioningErrors,
  ProvisioningHeaders,
  provisionPath
} from "./ProvisioningFields.ts"

export const BackendProvisionedAnswer = Schema.Struct({
  ...provisionedFields,
  agentId: AgentId,
  aiProvider: ProvisioningProvider,
  plan: ProvisioningPlan,
  playbackUrl: Schema.String,
  status: AgentStatus,
  createdAt: Timestamp
}).annotations({ identifier: "BackendProvisionedChannelAgent" })

const provision = HttpApiEndpoint.post("provision", provisionPath)
  .setHeaders(ProvisioningHeaders)
  .setPayload(ProvisioningBody)
  .addSuccess(BackendProvisionedAnswer)
  .addError(ProvisioningErrors)
  .addError(IdempotencyErrors)
  .annotate(OpenApi.Summary, "Provision an agent with channel tokens")
  .annotate(OpenApi.Description, "As on the public listener, with additional fields and without its rate limit.")

export class BackendProvisioningApi extends HttpApiGroup.make("provisioning")
  .add(provision)
  .middlewareEndpoints(InternalAuth) {}
