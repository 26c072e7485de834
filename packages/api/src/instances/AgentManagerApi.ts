import { Turn, TurnEvent } from "@berth/domain/instances/AgentRuntime"
import { RuntimeLogPage, LogLevel } from "@berth/domain/instances/RuntimeLog"
import { InstanceStats } from "@berth/domain/instances/InstanceStats"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { pageLimit } from "../http/Pagination.ts"
import { EventStream } from "../http/EventStream.ts"
import { InternalAuth } from "../http/InternalAuth.ts"
import { PlanLimitReachedBody } from "../agents/AgentErrorBodies.ts"
import { BackendUnavailableBody, InstanceUnavailableBody, InstanceNotFoundBody } from "./LifecycleErrorBodies.ts"
import { AgentId } from "@berth/domain/shared/AgentId"
import { UserId } from "@berth/domain/shared/UserId"

/* Agent manager on the private listener, for the web API and the worker. Callers check ownership. */

const agent = Schema.Struct({ agentId: AgentId })
const owner = Schema.Struct({ userId: UserId })

const instanceAction = <const Name extends string, Path extends `/${string}`>(
  name: Name,
  path: Path,
  summary: string
) =>
  HttpApiEndpoint.post(name, path)
    .setPath(owner)
    .addSuccess(HttpApiSchema.NoContent)
    .addError(InstanceNotFoundBody)
    .addError(InstanceUnavailableBody)
    .addError(BackendUnavailableBody)
    .annotate(OpenApi.Summary, summary)

const deploy = HttpApiEndpoint.post("deploy", "/internal/agents/:agentId/deploy")
  .setPath(agent)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(InstanceUnavailableBody)
  .addError(BackendUnavailableBody)
  .annotate(OpenApi.Summary, "Start the deployment of an agent")

const activate = HttpApiEndpoint.post("activate", "/internal/agents/:agentId/activate")
  .setPath(agent)
  .addSuccess(Schema.Struct({ activated: Schema.Boolean }))
  .addError(PlanLimitReachedBody)
  .addError(InstanceUnavailableBody)
  .addError(BackendUnavailableBody)
  .annotate(OpenApi.Summary, "Complete the deployment of an agent")

const failDeployment = HttpApiEndpoint.post("failDeployment", "/internal/agents/:agentId/fail-deployment")
  .setPath(agent)
  .setPayload(Schema.Struct({ reason: Schema.String }))
  .addSuccess(HttpApiSchema.NoContent)
  .addError(BackendUnavailableBody)
  .annotate(OpenApi.Summary, "Record a failed deployment")

const start = instanceAction("start", "/internal/instances/:userId/start", "Start an instance")

const stop = HttpApiEndpoint.post("stop", "/internal/instances/:userId/stop")
  .setPath(owner)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(InstanceNotFoundBody)
  .addError(BackendUnavailableBody)
  .annotate(OpenApi.Summary, "Stop an instance")

const restart = HttpApiEndpoint.post("restart", "/internal/instances/:userId/restart")
  .setPath(owner)
  .addSuccess(
    Schema.Struct({
      runtimeVersion: Schema.String,
      healings: Schema.Array(Schema.Struct({ from: Schema.String, to: Schema.String }))
    })
  )
  .addError(InstanceNotFoundBody)
  .addError(InstanceUnavailableBody)
  .addError(BackendUnavailableBody)
  .annotate(OpenApi.Summary, "Restart an instance")

const update = instanceAction(
  "update",
  "/internal/instances/:userId/update",
  "Update an instance to the current version"
)

const repair = instanceAction(
  "repair",
  "/internal/instances/:userId/repair",
  "Rebuild configuration and directories of an instance"
)

const reconfigure = HttpApiEndpoint.post("reconfigure", "/internal/instances/:userId/reconfigure")
  .setPath(owner)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(InstanceUnavailableBody)
  .addError(BackendUnavailableBody)
  .annotate(OpenApi.Summary, "Apply a changed configuration to a running instance")

const remove = HttpApiEndpoint.post("remove", "/internal/instances/:userId/remove")
  .setPath(owner)
  .addSuccess(HttpApiSchema.NoContent)
  .addError(BackendUnavailableBody)
  .annotate(OpenApi.Summary, "Remove an instance with its state")

const logs = HttpApiEndpoint.get("logs", "/internal/instances/:userId/logs")
  .setPath(owner)
  .setUrlParams(
    Schema.Struct({
      agentId: Schema.optional(AgentId),
      level: Schema.optional(LogLevel),
      limit: pageLimit
    })
  )
  .addSuccess(RuntimeLogPage)
  .addError(BackendUnavailableBody)
  .annotate(OpenApi.Summary, "Retrieve the log of an instance")

const stats = HttpApiEndpoint.get("stats", "/internal/instances/:userId/stats")
  .setPath(owner)
  .addSuccess(Schema.Struct({ stats: Schema.Option(InstanceStats) }))
  .addError(BackendUnavailableBody)
  .annotate(OpenApi.Summary, "Retrieve the resource use of an instance")

const measureStorage = HttpApiEndpoint.get("measureStorage", "/internal/instances/:userId/storage")
  .setPath(owner)
  .addSuccess(Schema.Struct({ bytes: Schema.Option(Schema.Int) }))
  .addError(BackendUnavailableBody)
  .addError(InstanceUnavailableBody)
  .annotate(OpenApi.Summary, "Retrieve the storage that agents' files use")

const failure = {
  /** Whether the instance was unavailable or the turn failed. */
  kind: Schema.Literal("instance", "turn"),
  reason: Schema.String
}

/** Events of a turn. A stream without `done` or `error` at its end was interrupted. */
export const ManagedTurnEvent = Schema.Union(
  ...TurnEvent.members,
  Schema.Struct({ type: Schema.Literal("error"), ...failure })
)
export type ManagedTurnEvent = typeof ManagedTurnEvent.Type

/** As `ManagedTurnEvent`, for readers. */
export const ReceivedTurnEvent = Schema.Union(
  ...TurnEvent.members,
  Schema.Struct({ type: Schema.transformLiteral("error", "failed"), ...failure })
)

/** Responds with server-sent `ManagedTurnEvent`s. */
const chat = HttpApiEndpoint.post("chat", "/internal/instances/:userId/turns")
  .setPath(owner)
  .setPayload(Turn)
  .addSuccess(EventStream)
  .addError(InstanceUnavailableBody)
  .annotate(OpenApi.Summary, "Run a turn of an agent")

export class AgentManagerApi extends HttpApiGroup.make("agentManager")
  .add(deploy)
  .add(activate)
  .add(failDeployment)
  .add(start)
  .add(stop)
  .add(restart)
  .add(update)
  .add(repair)
  .add(reconfigure)
  .add(remove)
  .add(logs)
  .add(stats)
  .add(measureStorage)
  .add(chat)
  .middlewareEndpoints(InternalAuth) {}
