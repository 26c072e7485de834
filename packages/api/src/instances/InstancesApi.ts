import type { User } from "@berth/domain/accounts/User"
import { UserId } from "@berth/domain/accounts/User"
import { AgentStatus } from "@berth/domain/agents/AgentStatus"
import { PlanId } from "@berth/domain/billing/Plan"
import { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "@effect/platform"
import { Context, Schema } from "effect"
import { GroupErrorMembers, lifecycleMembers } from "../http/ErrorBody.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { sessionCookie } from "../sessions/SessionAuth.ts"
import {
  BackendIsUnavailableBody,
  CellIsUnavailableBody,
  InstanceIsNotYoursBody,
  InstanceIsUnknownBody,
  LifecycleFailedBody,
  LifecycleNotSignedInBody
} from "./LifecycleErrorBodies.ts"

/** The user whose instance the path names, proved to be the caller. */
export class InstanceOwner extends Context.Tag("@berth/InstanceOwner")<InstanceOwner, User>() {}

/** 401 without a session, then 403 for anybody else's instance, existing or not. */
export class OwnInstanceAuth extends HttpApiMiddleware.Tag<OwnInstanceAuth>()("OwnInstanceAuth", {
  provides: InstanceOwner,
  failure: Schema.Union(LifecycleNotSignedInBody, InstanceIsNotYoursBody),
  security: { session: sessionCookie }
}) {}

const owner = Schema.Struct({ userId: UserId })

export const InstanceView = Schema.Struct({
  userId: UserId,
  status: AgentStatus,
  startedAt: Schema.NullOr(Timestamp),
  subdomain: Schema.String,
  url: Schema.String,
  plan: PlanId,
  runtimeVersion: Schema.NullOr(Schema.String)
}).annotations({ identifier: "Instance" })

/** GET /api/instance/:userId */
const find = HttpApiEndpoint.get("find", "/api/instance/:userId")
  .setPath(owner)
  .addSuccess(InstanceView)
  .addError(InstanceIsUnknownBody)

/** GET /api/instance/:userId/token */
const token = HttpApiEndpoint.get("token", "/api/instance/:userId/token")
  .setPath(owner)
  .addSuccess(Schema.Struct({ token: Schema.String }))
  .addError(InstanceIsUnknownBody)

/** POST /api/instance/:userId/start */
const start = HttpApiEndpoint.post("start", "/api/instance/:userId/start")
  .setPath(owner)
  .addSuccess(Schema.Struct({ success: Schema.Boolean, status: Schema.Literal("active") }))
  .addError(InstanceIsUnknownBody)
  .addError(BackendIsUnavailableBody)
  .addError(CellIsUnavailableBody)

/** POST /api/instance/:userId/stop */
const stop = HttpApiEndpoint.post("stop", "/api/instance/:userId/stop")
  .setPath(owner)
  .addSuccess(Schema.Struct({ success: Schema.Boolean, status: Schema.Literal("stopped") }))
  .addError(InstanceIsUnknownBody)
  .addError(BackendIsUnavailableBody)

/** POST /api/instance/:userId/restart */
const restart = HttpApiEndpoint.post("restart", "/api/instance/:userId/restart")
  .setPath(owner)
  .addSuccess(
    Schema.Struct({
      success: Schema.Boolean,
      status: Schema.Literal("active"),
      healedLegacyModel: Schema.Boolean,
      healMessage: Schema.NullOr(Schema.String),
      runtimeVersion: Schema.String
    })
  )
  .addError(InstanceIsUnknownBody)
  .addError(BackendIsUnavailableBody)
  .addError(CellIsUnavailableBody)

/** POST /api/instance/:userId/update */
const update = HttpApiEndpoint.post("update", "/api/instance/:userId/update")
  .setPath(owner)
  .addSuccess(Schema.Struct({ success: Schema.Boolean, status: Schema.Literal("running") }))
  .addError(InstanceIsUnknownBody)
  .addError(BackendIsUnavailableBody)
  .addError(CellIsUnavailableBody)

const Done = Schema.Struct({ success: Schema.Boolean, message: Schema.String }).annotations({ identifier: "Done" })

/** POST /api/instance/:userId/repair */
const repair = HttpApiEndpoint.post("repair", "/api/instance/:userId/repair")
  .setPath(owner)
  .addSuccess(Done)
  .addError(InstanceIsUnknownBody)
  .addError(BackendIsUnavailableBody)
  .addError(CellIsUnavailableBody)

/** POST /api/instance/:userId/reset-memory: conversations, their summaries and what agents noted go; configuration, skills and credentials stay. */
const resetMemory = HttpApiEndpoint.post("resetMemory", "/api/instance/:userId/reset-memory")
  .setPath(owner)
  .addSuccess(Done)
  .addError(InstanceIsUnknownBody)

export class InstancesApi extends HttpApiGroup.make("instances")
  .add(find)
  .add(token)
  .add(start)
  .add(stop)
  .add(restart)
  .add(update)
  .add(repair)
  .add(resetMemory)
  .middlewareEndpoints(OwnInstanceAuth)
  .addError(LifecycleFailedBody)
  .annotate(GroupErrorMembers, lifecycleMembers) {}
