import { A2aMethodNotFound } from "@berth/api/a2a/tasks/A2aErrorBodies"
import {
  CreateNotificationParams,
  GetTaskParams,
  ListTasksParams,
  NotificationParams,
  NotificationsOfTaskParams,
  RpcRequest,
  SendMessageParams,
  TaskParams
} from "@berth/api/a2a/tasks/A2aWire"
import { summarizeIssues, toRequestIssue } from "@berth/api/http/RequestIssues"
import type { A2aPeer } from "@berth/domain/a2a/tasks/A2aPeers"
import { A2aRequestInvalid } from "@berth/domain/a2a/tasks/A2aTaskErrors"
import { HttpApiError, HttpApp, HttpServerResponse } from "@effect/platform"
import { Effect, Option, ParseResult, Predicate, Record, Schema, type Stream } from "effect"
import type { A2aOperations } from "./A2aOperations.ts"
import { respondTaskEvents, type TaskEvent } from "./TaskStreams.ts"

const maximumReasonLength = 500

const describeParams = (error: ParseResult.ParseError) =>
  summarizeIssues(
    ParseResult.ArrayFormatter.formatErrorSync(error).map((issue) =>
      toRequestIssue({ ...issue, path: ["params", ...issue.path] })
    )
  )
    .map(({ message, path }) => `${path}: ${message}`)
    .join("; ")
    .slice(0, maximumReasonLength)

/** `String.snakeToCamel` throws for a name that ends in `_`. */
const toJsonName = (name: string) => name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

/** Like the JSON encoding of protocol buffers, a member may have its original name: `task_id` for `taskId`. */
const readNames = (params: unknown) => (Predicate.isRecord(params) ? Record.mapKeys(params, toJsonName) : params)

export const readRpcRequest = (body: unknown) =>
  Effect.catchTag(
    Schema.decodeUnknown(RpcRequest)(body),
    "ParseError",
    HttpApiError.HttpApiDecodeError.refailParseError
  )

/** Decodes the parameters of a method; absent ones are an empty object. */
const read = <A, I>(schema: Schema.Schema<A, I>, params: unknown) =>
  Effect.mapError(
    Schema.decodeUnknown(schema)(readNames(params ?? {})),
    (error) => new A2aRequestInvalid({ reason: describeParams(error) })
  )

const JsonObject = Schema.parseJson(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
const decode = Schema.decodeUnknownOption(JsonObject)

const isId = Predicate.or(Predicate.isString, Predicate.isNumber)

/** Adds the request's id to its error response. */
export const addRequestId = (id: unknown) =>
  HttpApp.appendPreResponseHandler((_request, response) =>
    Effect.succeed(
      response.body._tag === "Uint8Array"
        ? Option.match(decode(new TextDecoder().decode(response.body.body)), {
            onNone: () => response,
            onSome: (body) =>
              HttpServerResponse.setBody(
                response,
                HttpServerResponse.unsafeJson({ ...body, id: isId(id) ? id : null }).body
              )
          })
        : response
    )
  )

/** Answers a request of the JSON-RPC binding. */
export const answerRpc = Effect.fnUntraced(function* (
  operations: A2aOperations,
  peer: A2aPeer,
  { id = null, method, params }: RpcRequest
) {
  const respond = <E, R>(result: Effect.Effect<unknown, E, R>) =>
    Effect.map(result, (value) => HttpServerResponse.unsafeJson({ jsonrpc: "2.0", id, result: value }))
  const respondStream = <E, R>(events: Effect.Effect<Stream.Stream<TaskEvent>, E, R>) =>
    respondTaskEvents(events, (result) => ({ jsonrpc: "2.0", id, result }))
  switch (method) {
    case "SendMessage":
      return yield* respond(operations.send(peer, yield* read(SendMessageParams, params)))
    case "SendStreamingMessage":
      return yield* respondStream(operations.stream(peer, yield* read(SendMessageParams, params)))
    case "GetTask":
      return yield* respond(operations.get(peer, yield* read(GetTaskParams, params)))
    case "ListTasks":
      return yield* respond(operations.list(peer, yield* read(ListTasksParams, params)))
    case "CancelTask":
      return yield* respond(operations.cancel(peer, yield* read(TaskParams, params)))
    case "SubscribeToTask":
      return yield* respondStream(operations.subscribe(peer, yield* read(TaskParams, params)))
    case "CreateTaskPushNotificationConfig": {
      const request = yield* read(CreateNotificationParams, params)
      return yield* respond(operations.createNotification(peer, request.taskId, request))
    }
    case "GetTaskPushNotificationConfig": {
      const request = yield* read(NotificationParams, params)
      return yield* respond(operations.findNotification(peer, request.taskId, request.id))
    }
    case "ListTaskPushNotificationConfigs": {
      const request = yield* read(NotificationsOfTaskParams, params)
      return yield* respond(operations.listNotifications(peer, request.taskId, request))
    }
    case "DeleteTaskPushNotificationConfig": {
      const request = yield* read(NotificationParams, params)
      return yield* respond(Effect.as(operations.removeNotification(peer, request.taskId, request.id), null))
    }
    case "GetExtendedAgentCard":
      return yield* respond(operations.card(peer, { all: true }))
    default:
      return yield* new A2aMethodNotFound()
  }
})
