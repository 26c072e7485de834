import type { User } from "@berth/domain/shared/User"
import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, OpenApi } from "@effect/platform"
import { Context, Schema } from "effect"
import { AgentListItem } from "../agents/AgentsApi.ts"
import { GroupErrorMembers, lifecycleMembers } from "../http/ErrorBody.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { acceptApiKeys, ScopeMissingBody } from "../sessions/RequiredScope.ts"
import { sessionCookie } from "../sessions/SessionAuth.ts"
import {
  BackendUnavailableBody,
  InstanceUnavailableBody,
  InstanceNotOwnedBody,
  InstanceNotFoundBody,
  LifecycleFailedBody,
  LifecycleAuthenticationRequiredBody
} from "./LifecycleErrorBodies.ts"
import { PlanId } from "@berth/domain/shared/PlanId"
import { UserId } from "@berth/domain/shared/UserId"

/** The caller, who owns the instance of the path. */
export class InstanceOwner extends Context.Tag("@berth/InstanceOwner")<InstanceOwner, User>() {}

/** 401 without a credential, then 403 for another user's instance, whether or not it exists. */
export class InstanceOwnerAuth extends HttpApiMiddleware.Tag<InstanceOwnerAuth>()("InstanceOwnerAuth", {
  provides: InstanceOwner,
  failure: Schema.Union(
    LifecycleAuthenticationRequiredBody,
    ScopeMissingBody,
    InstanceNotOwnedBody,
    RateLimitExceededBody
  ),
  security: { session: sessionCookie }
}) {}

const owner = Schema.Struct({ userId: UserId })

const instanceAction = <const Name extends string, Path extends `/${string}`, A, I>(
  name: Name,
  path: Path,
  summary: string,
  success: Schema.Schema<A, I>
) =>
  HttpApiEndpoint.post(name, path)
    .setPath(owner)
    .addSuccess(success)
    .addError(InstanceNotFoundBody)
    .addError(BackendUnavailableBody)
    .addError(InstanceUnavailableBody)
    .annotate(OpenApi.Summary, summary)

const InstanceView = Schema.Struct({
  userId: UserId,
  status: AgentStatus,
  startedAt: Schema.NullOr(Timestamp),
  subdomain: Schema.String,
  url: Schema.String,
  plan: PlanId,
  runtimeVersion: Schema.NullOr(Schema.String)
}).annotations({ identifier: "Instance" })

/** Response of GET / at an instance's subdomain, for programs. */
export const InstanceOverview = Schema.Struct({ ...InstanceView.fields, agents: Schema.Array(AgentListItem) })

const find = HttpApiEndpoint.get("find", "/api/instance/:userId")
  .setPath(owner)
  .addSuccess(InstanceView)
  .addError(InstanceNotFoundBody)
  .annotate(OpenApi.Summary, "Retrieve the caller's instance")

/** Sessions only, since the token outlives an API key. */
const token = HttpApiEndpoint.get("token", "/api/instance/:userId/token")
  .setPath(owner)
  .addSuccess(Schema.Struct({ token: Schema.String }))
  .addError(InstanceNotFoundBody)
  .annotate(OpenApi.Summary, "Retrieve the instance's gateway token")

/** Figures are "N/A" while the instance is down, and if its host does not report them. */
const stats = HttpApiEndpoint.get("stats", "/api/instance/:userId/stats")
  .setPath(owner)
  .addSuccess(
    Schema.Struct({
      userId: UserId,
      cpu: Schema.String,
      memory: Schema.String,
      status: AgentStatus,
      plan: PlanId,
      runtimeVersion: Schema.NullOr(Schema.String)
    }).annotations({ identifier: "InstanceStats" })
  )
  .addError(InstanceNotFoundBody)
  .addError(BackendUnavailableBody)
  .annotate(OpenApi.Summary, "Retrieve the instance's resource use")

const storage = HttpApiEndpoint.get("storage", "/api/instance/:userId/storage")
  .setPath(owner)
  .addSuccess(
    Schema.Struct({
      usedBytes: Schema.NullOr(Schema.Int).annotations({
        description: "Bytes of all agents' files; null while the instance is down"
      }),
      limitBytes: Schema.Int.annotations({ description: "Bytes of the plan or of the storage upgrade" })
    }).annotations({ identifier: "InstanceStorage" })
  )
  .addError(InstanceNotFoundBody)
  .addError(BackendUnavailableBody)
  .addError(InstanceUnavailableBody)
  .annotate(OpenApi.Summary, "Retrieve the storage that agents' files use")

const start = instanceAction(
  "start",
  "/api/instance/:userId/start",
  "Start the instance",
  Schema.Struct({ success: Schema.Boolean, status: Schema.Literal("active") })
)

const stop = HttpApiEndpoint.post("stop", "/api/instance/:userId/stop")
  .setPath(owner)
  .addSuccess(Schema.Struct({ success: Schema.Boolean, status: Schema.Literal("stopped") }))
  .addError(InstanceNotFoundBody)
  .addError(BackendUnavailableBody)
  .annotate(OpenApi.Summary, "Stop the instance")

const restart = instanceAction(
  "restart",
  "/api/instance/:userId/restart",
  "Restart the instance",
  Schema.Struct({
    success: Schema.Boolean,
    status: Schema.Literal("active"),
    healedLegacyModel: Schema.Boolean,
    healMessage: Schema.NullOr(Schema.String),
    runtimeVersion: Schema.String
  })
)

const update = instanceAction(
  "update",
  "/api/instance/:userId/update",
  "Update the instance to the current version",
  Schema.Struct({ success: Schema.Boolean, status: Schema.Literal("running") })
)

const Done = Schema.Struct({ success: Schema.Boolean, message: Schema.String }).annotations({ identifier: "Done" })

const repair = instanceAction(
  "repair",
  "/api/instance/:userId/repair",
  "Rebuild configuration and directories of the instance",
  Done
)

/** Deletes conversations, their summaries and agents' notes; configuration, skills and credentials are kept. */
const resetMemory = HttpApiEndpoint.post("resetMemory", "/api/instance/:userId/reset-memory")
  .setPath(owner)
  .addSuccess(Done)
  .addError(InstanceNotFoundBody)
  .annotate(OpenApi.Summary, "Clear sessions and memory of the instance")

export class InstancesApi extends HttpApiGroup.make("instances")
  .add(find)
  .add(stats)
  .add(storage)
  .add(start)
  .add(stop)
  .add(restart)
  .add(update)
  .add(repair)
  .add(resetMemory)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .add(token)
  .middlewareEndpoints(InstanceOwnerAuth)
  .addError(LifecycleFailedBody)
  .annotate(GroupErrorMembers, lifecycleMembers) {}
