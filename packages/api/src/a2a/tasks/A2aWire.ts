import { JSONSchema, Schema } from "effect"
import { queryInteger } from "../../http/Pagination.ts"
import { namesFirstItem, payload } from "../../http/Payload.ts"

/*
 * Requests and responses of the A2A protocol 1.0 in JSON. Like the JSON of protocol buffers, absent members, null and
 * empty texts are equal, and undeclared members are ignored.
 */

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { nullable: true })
const text = (maximum: number) => optional(Schema.String.pipe(Schema.maxLength(maximum)))
const record = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/** Decodes a number in JSON or in a query. */
const count = (least: number, most: number) => Schema.Int.pipe(Schema.between(least, most))
const queryCount = (least: number, most: number) => Schema.optional(queryInteger(least, most))

const maximumIdLength = 256
const id = text(maximumIdLength)
const requiredId = Schema.String.pipe(Schema.minLength(1), Schema.maxLength(maximumIdLength))
/** The largest int32 of protocol buffers. */
const maximumCount = 2_147_483_647
const historyLength = optional(count(0, maximumCount))

export const A2aPart = Schema.Struct({
  text: optional(Schema.String),
  data: Schema.optional(Schema.Unknown),
  raw: optional(Schema.String),
  url: optional(Schema.String),
  mediaType: text(200),
  filename: text(1_000),
  metadata: optional(record)
}).annotations({ identifier: "A2aPart", description: "Either `text` or `data`. Agents accept no files" })
export type A2aPart = typeof A2aPart.Type

const Message = Schema.Struct({
  messageId: requiredId.annotations({ description: "Idempotency key: a repeated message returns the same task" }),
  contextId: id.annotations({ description: "A conversation: your own id, or that of an earlier task" }),
  taskId: id,
  role: Schema.Literal("ROLE_USER"),
  parts: Schema.NonEmptyArray(A2aPart).annotations(namesFirstItem),
  metadata: optional(record),
  extensions: optional(Schema.Array(Schema.String)),
  referenceTaskIds: optional(Schema.Array(Schema.String))
}).annotations({ identifier: "A2aMessage" })
export type A2aWireMessage = typeof Message.Type

/** A valid HTTP header value. */
const headerText = Schema.String.pipe(Schema.pattern(/^[\x20-\x7e]{0,4096}$/))

const notification = {
  url: Schema.String,
  token: optional(headerText).annotations({ description: "Sent in the header `X-A2A-Notification-Token`" }),
  authentication: optional(
    Schema.Struct({
      scheme: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/)),
      credentials: optional(headerText)
    })
  ).annotations({ description: "Sent in the header `Authorization`" })
}

export const PushNotificationConfig = Schema.Struct({ id, taskId: id, ...notification }).annotations({
  identifier: "A2aPushNotificationConfig"
})
export type PushNotificationConfig = typeof PushNotificationConfig.Type

export const SendMessageParams = payload({
  message: Message,
  configuration: optional(
    Schema.Struct({
      acceptedOutputModes: optional(Schema.Array(Schema.String)),
      taskPushNotificationConfig: optional(PushNotificationConfig),
      historyLength,
      returnImmediately: optional(Schema.Boolean).annotations({ description: "False waits for the end of the task" })
    })
  ),
  metadata: optional(record)
}).annotations({ identifier: "A2aSendMessageRequest" })
export type SendMessageParams = typeof SendMessageParams.Type

export const TaskQuery = Schema.Struct({ historyLength: queryCount(0, maximumCount) })
export const GetTaskParams = payload({ id: requiredId, historyLength })
export const TaskParams = payload({ id: requiredId })

/** RFC 3339. `DateTimeUtc` alone accepts every format that the JavaScript engine parses. */
const timestamp = Schema.compose(
  Schema.String.pipe(Schema.pattern(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/)),
  Schema.DateTimeUtc
)
/** The states of the protocol; agents have some of them only. An empty text is an absent state. */
const taskState = Schema.Literal(
  "",
  "TASK_STATE_UNSPECIFIED",
  "TASK_STATE_SUBMITTED",
  "TASK_STATE_WORKING",
  "TASK_STATE_COMPLETED",
  "TASK_STATE_FAILED",
  "TASK_STATE_CANCELED",
  "TASK_STATE_INPUT_REQUIRED",
  "TASK_STATE_REJECTED",
  "TASK_STATE_AUTH_REQUIRED"
)
const maximumPageSize = 100
export const ListTasksParams = payload({
  contextId: id,
  status: optional(taskState),
  pageSize: optional(count(1, maximumPageSize)),
  pageToken: id,
  historyLength,
  statusTimestampAfter: optional(timestamp),
  includeArtifacts: optional(Schema.Boolean)
})
export type ListTasksParams = typeof ListTasksParams.Type

/** As in JSON, for a query. */
export const ListTasksQuery = Schema.Struct({
  contextId: Schema.optional(Schema.String),
  status: Schema.optional(taskState),
  pageSize: queryCount(1, maximumPageSize),
  pageToken: Schema.optional(Schema.String),
  historyLength: queryCount(0, maximumCount),
  statusTimestampAfter: Schema.optional(timestamp),
  includeArtifacts: Schema.optional(Schema.BooleanFromString)
})

export const CreateNotificationParams = payload({ id, taskId: requiredId, ...notification })
export const NotificationParams = payload({ taskId: requiredId, id: requiredId })
/** A page size of zero is absent: the field is not optional in protocol buffers, unlike that of `ListTasks`. */
export const NotificationsOfTaskParams = payload({
  taskId: requiredId,
  pageSize: optional(count(0, maximumCount)),
  pageToken: id
})
/** As in JSON, for a query. */
export const NotificationsQuery = Schema.Struct({
  pageSize: queryCount(0, maximumCount),
  pageToken: Schema.optional(Schema.String)
})
export type NotificationsPage = typeof NotificationsQuery.Type

export const RpcRequest = payload({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.optional(Schema.Union(Schema.String, Schema.Number, Schema.Null)),
  method: Schema.String.annotations({
    description:
      "SendMessage, SendStreamingMessage, GetTask, ListTasks, CancelTask, SubscribeToTask, CreateTaskPushNotificationConfig, GetTaskPushNotificationConfig, ListTaskPushNotificationConfigs, DeleteTaskPushNotificationConfig or GetExtendedAgentCard"
  }),
  params: Schema.optional(Schema.Unknown)
})
export type RpcRequest = typeof RpcRequest.Type
const { $schema: _, ...rpcRequestSchema } = JSONSchema.make(RpcRequest)
/** A request before its validation, whose id belongs to the response even if the request is invalid. */
export const RpcBody = Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
  identifier: "A2aRpcRequest",
  jsonSchema: rpcRequestSchema
})

/** Returns the value of a member; undefined for an empty text. */
export const nonEmpty = (value: string | undefined): string | undefined => (value === "" ? undefined : value)

// Responses, for documentation.

const Text = Schema.Struct({ text: Schema.String, mediaType: Schema.optional(Schema.String) })
const Artifact = Schema.Struct({ artifactId: Schema.String, name: Schema.String, parts: Schema.Array(Text) })
export const Task = Schema.Struct({
  id: Schema.String,
  contextId: Schema.String,
  status: Schema.Struct({
    state: Schema.Literal("TASK_STATE_WORKING", "TASK_STATE_COMPLETED", "TASK_STATE_FAILED", "TASK_STATE_CANCELED"),
    timestamp: Schema.String,
    message: Schema.optional(record).annotations({ description: "Reason for which the task failed" })
  }),
  artifacts: Schema.optional(Schema.Array(Artifact)),
  history: Schema.optional(Schema.Array(record))
}).annotations({ identifier: "A2aTask" })
export const SentTask = Schema.Struct({ task: Task })
export const TaskList = Schema.Struct({
  tasks: Schema.Array(Task),
  nextPageToken: Schema.String,
  pageSize: Schema.Int,
  totalSize: Schema.Int
}).annotations({ identifier: "A2aTaskList" })
export const PushNotificationConfigs = Schema.Struct({
  configs: Schema.Array(PushNotificationConfig),
  nextPageToken: Schema.String
})
const rpcHead = {
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.Union(Schema.String, Schema.Number, Schema.Null)
}
const RpcFailure = Schema.Struct({ code: Schema.Int, message: Schema.String, data: Schema.Array(record) })
export const RpcResponse = Schema.Struct({
  ...rpcHead,
  result: Schema.optional(Schema.Unknown),
  error: Schema.optional(RpcFailure)
}).annotations({ identifier: "A2aRpcResponse" })
/** Body of a rejected request. Errors of the protocol are responses. */
export const RpcError = Schema.Struct({
  ...rpcHead,
  error: Schema.Struct({ ...RpcFailure.fields, code: Schema.Number }),
  message: Schema.String,
  code: Schema.String,
  traceId: Schema.optional(Schema.String)
})
export const RestError = Schema.Struct({
  error: Schema.Struct({
    code: Schema.Number,
    status: Schema.String,
    message: Schema.String,
    details: Schema.Array(record)
  }),
  message: Schema.String,
  code: Schema.String,
  traceId: Schema.optional(Schema.String)
})
