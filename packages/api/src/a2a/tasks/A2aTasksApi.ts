import type { A2aPeer } from "@berth/domain/a2a/tasks/A2aPeers"
import { AgentId } from "@berth/domain/shared/AgentId"
import { HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware, HttpApiSchema, OpenApi } from "@effect/platform"
import { Context, flow, JSONSchema, Schema } from "effect"
import { AgentNotFoundBody } from "../../agents/AgentErrorBodies.ts"
import { BudgetExceededBody, UnitsExhaustedBody } from "../../billing/BillingErrorBodies.ts"
import { EventStream } from "../../http/EventStream.ts"
import { documentErrorShape } from "../../http/OpenApiErrorShape.ts"
import { documentMediaType } from "../../http/OpenApiMediaType.ts"
import { InternalFailureBody } from "../../http/TransportErrors.ts"
import {
  ChatSessionNotFoundBody,
  MessageInvalidBody,
  PendingMessageLimitReachedBody,
  RunningAgentNotFoundBody
} from "../../interaction/InteractionErrorBodies.ts"
import { acceptApiKeys } from "../../sessions/RequiredScope.ts"
import { AuthenticationErrors, sessionCookie } from "../../sessions/SessionAuth.ts"
import {
  A2aContentUnsupportedBody,
  a2aMediaType,
  A2aMethodNotFoundBody,
  A2aOperationUnsupportedBody,
  A2aRequestInvalidBody,
  A2aTaskLimitReachedBody,
  A2aTaskNotCancelableBody,
  A2aTaskNotFoundBody,
  A2aVersionUnsupportedBody,
  PushNotificationNotFoundBody
} from "./A2aErrorBodies.ts"
import {
  ListTasksQuery,
  NotificationsQuery,
  PushNotificationConfig,
  PushNotificationConfigs,
  RestError,
  RpcError,
  RpcBody,
  RpcResponse,
  SendMessageParams,
  SentTask,
  Task,
  TaskList,
  TaskQuery
} from "./A2aWire.ts"
import { AgentCard } from "./AgentCard.ts"

/** The agent in the path and the caller, who may communicate with it. */
export class CurrentA2aPeer extends Context.Tag("@berth/CurrentA2aPeer")<CurrentA2aPeer, A2aPeer>() {}

const peerAuth = {
  provides: CurrentA2aPeer,
  failure: Schema.Union(AuthenticationErrors, AgentNotFoundBody),
  security: { session: sessionCookie }
}

/** Session, API key or gateway token: 401 without one, then 404 if the caller may not communicate. */
export class A2aPeerAuth extends HttpApiMiddleware.Tag<A2aPeerAuth>()("A2aPeerAuth", peerAuth) {}

/** As `A2aPeerAuth`, with 404 instead of 401. */
export class AgentCardAuth extends HttpApiMiddleware.Tag<AgentCardAuth>()("AgentCardAuth", peerAuth) {}

/** A success of the HTTP+JSON binding. */
const rest = <A, I, R>(schema: Schema.Schema<A, I, R>) =>
  HttpApiSchema.withEncoding(schema, { kind: "Json", contentType: a2aMediaType })

const agentPath = Schema.Struct({ id: AgentId })
const taskPath = Schema.Struct({ id: AgentId, taskId: Schema.String })

const card = HttpApiEndpoint.get("card", "/agents/:id/.well-known/agent-card.json")
  .setPath(agentPath)
  .addSuccess(AgentCard)
  .addSuccess(HttpApiSchema.Empty(304))
  .annotate(OpenApi.Summary, "Retrieve an agent card")
  .annotate(
    OpenApi.Description,
    "Section 4.4 of the A2A protocol 1.0. Available to the owner and to callers that the agent allows. 304 if `If-None-Match` matches."
  )

const rpc = HttpApiEndpoint.post("rpc", "/agents/:id/a2a")
  .setPath(agentPath)
  .setPayload(RpcBody)
  .addSuccess(RpcResponse)
  .addSuccess(EventStream)
  .annotate(OpenApi.Summary, "Call a method of the A2A protocol by JSON-RPC")
  .annotate(
    OpenApi.Description,
    "Section 9 of the A2A protocol 1.0, with the header `A2A-Version: 1.0`. Streaming methods respond with server-sent events."
  )

const extendedCard = HttpApiEndpoint.get("extendedCard", "/agents/:id/a2a/extendedAgentCard")
  .setPath(agentPath)
  .addSuccess(rest(AgentCard))
  .annotate(OpenApi.Summary, "Retrieve an extended agent card")
  .annotate(OpenApi.Description, "Available to the owner of the agent; contains every skill that the agent uses.")

const operation = Schema.String.annotations({
  description: "`message:send` or `message:stream`",
  jsonSchema: { type: "string", enum: ["message:send", "message:stream"] }
})
const send = HttpApiEndpoint.post("send", "/agents/:id/a2a/:operation")
  .setPath(Schema.Struct({ id: AgentId, operation }))
  .setPayload(SendMessageParams)
  .addSuccess(rest(SentTask))
  .addSuccess(EventStream)
  .annotate(OpenApi.Summary, "Send a message to an agent by the A2A protocol")
  .annotate(
    OpenApi.Description,
    "Section 11 of the A2A protocol 1.0. `message:send` waits for the end of the task; `message:stream` responds with server-sent events. The owner of the agent is charged for the turn."
  )

const list = HttpApiEndpoint.get("list", "/agents/:id/a2a/tasks")
  .setPath(agentPath)
  .setUrlParams(ListTasksQuery)
  .addSuccess(rest(TaskList))
  .annotate(OpenApi.Summary, "List your tasks at an agent")
  .annotate(
    OpenApi.Description,
    "Tasks of the last 30 days, by the time of their state, newest first. `status` is a state of the protocol, such as TASK_STATE_WORKING."
  )

const find = HttpApiEndpoint.get("find", "/agents/:id/a2a/tasks/:taskId")
  .setPath(taskPath)
  .setUrlParams(TaskQuery)
  .addSuccess(rest(Task))
  .addSuccess(EventStream)
  .annotate(OpenApi.Summary, "Retrieve a task")
  .annotate(
    OpenApi.Description,
    "`<taskId>:subscribe` streams a task in progress from its first event, or after `Last-Event-ID`."
  )

const change = HttpApiEndpoint.post("change", "/agents/:id/a2a/tasks/:taskId")
  .setPath(taskPath)
  .addSuccess(rest(Task))
  .addSuccess(EventStream)
  .annotate(OpenApi.Summary, "Cancel a task or subscribe to it")
  .annotate(
    OpenApi.Description,
    "`<taskId>:cancel` ends the turn, which is charged for its usage. `<taskId>:subscribe` streams a task in progress from its first event, or after `Last-Event-ID`."
  )

const notificationPath = Schema.Struct({ id: AgentId, taskId: Schema.String, notificationId: Schema.String })
const createNotification = HttpApiEndpoint.post(
  "createNotification",
  "/agents/:id/a2a/tasks/:taskId/pushNotificationConfigs"
)
  .setPath(taskPath)
  .setPayload(PushNotificationConfig)
  .addSuccess(rest(PushNotificationConfig), { status: 201 })
  .annotate(OpenApi.Summary, "Create a push notification configuration")
  .annotate(
    OpenApi.Description,
    "Sends the end of the task to an address; at once if the task has ended. At most 5 per task. The body is `{task}`. With a `token`, it is signed by Standard Webhooks with the token as key. Private and loopback addresses are refused at delivery."
  )
const listNotifications = HttpApiEndpoint.get(
  "listNotifications",
  "/agents/:id/a2a/tasks/:taskId/pushNotificationConfigs"
)
  .setPath(taskPath)
  .setUrlParams(NotificationsQuery)
  .addSuccess(rest(PushNotificationConfigs))
  .annotate(OpenApi.Summary, "List the push notification configurations of a task")
  .annotate(OpenApi.Description, "Oldest first. Without `pageSize`, the page has all.")
const findNotification = HttpApiEndpoint.get(
  "findNotification",
  "/agents/:id/a2a/tasks/:taskId/pushNotificationConfigs/:notificationId"
)
  .setPath(notificationPath)
  .addSuccess(rest(PushNotificationConfig))
  .annotate(OpenApi.Summary, "Retrieve a push notification configuration")
  .annotate(OpenApi.Description, "Without credentials.")
const removeNotification = HttpApiEndpoint.del(
  "removeNotification",
  "/agents/:id/a2a/tasks/:taskId/pushNotificationConfigs/:notificationId"
)
  .setPath(notificationPath)
  // JSON of google.protobuf.Empty, which the protocol's SDKs parse.
  .addSuccess(rest(Schema.Struct({}).annotations({ jsonSchema: { type: "object", additionalProperties: false } })))
  .annotate(OpenApi.Summary, "Delete a push notification configuration")
  .annotate(OpenApi.Description, "Idempotent.")

/** Accepts API keys with the scope `chat`; errors use the format of a binding. */
const acceptPeers = (failure: Schema.Schema.AnyNoContext, contentType: string) =>
  acceptApiKeys(
    "chat",
    flow(documentMediaType(contentType), documentErrorShape({ [contentType]: { schema: JSONSchema.make(failure) } }))
  )

export class A2aTasksApi extends HttpApiGroup.make("a2aTasks")
  .add(send)
  .add(list)
  .add(find)
  .add(change)
  .add(createNotification)
  .add(listNotifications)
  .add(findNotification)
  .add(removeNotification)
  .add(extendedCard)
  .annotateEndpointsContext(acceptPeers(RestError, a2aMediaType))
  .add(rpc.annotateContext(acceptPeers(RpcError, "application/json")))
  .middlewareEndpoints(A2aPeerAuth)
  .addError(A2aMethodNotFoundBody)
  .addError(A2aTaskNotFoundBody)
  .addError(PushNotificationNotFoundBody)
  .addError(A2aTaskNotCancelableBody)
  .addError(A2aOperationUnsupportedBody)
  .addError(A2aContentUnsupportedBody)
  .addError(A2aRequestInvalidBody)
  .addError(A2aVersionUnsupportedBody)
  .addError(A2aTaskLimitReachedBody)
  .addError(UnitsExhaustedBody)
  .addError(BudgetExceededBody)
  .addError(PendingMessageLimitReachedBody)
  .addError(RunningAgentNotFoundBody)
  .addError(ChatSessionNotFoundBody)
  .addError(MessageInvalidBody)
  .addError(InternalFailureBody) {}

export class AgentCardsApi extends HttpApiGroup.make("agentCards")
  .add(card)
  .middlewareEndpoints(AgentCardAuth)
  .annotateEndpointsContext(acceptApiKeys("chat"))
  .addError(InternalFailureBody) {}
