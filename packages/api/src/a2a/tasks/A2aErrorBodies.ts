import {
  A2aContentUnsupported,
  A2aOperationUnsupported,
  A2aRequestInvalid,
  A2aTaskLimitReached,
  A2aTaskNotCancelable,
  A2aTaskNotFound,
  A2aVersionUnsupported,
  PushNotificationNotFound
} from "@berth/domain/a2a/tasks/A2aTaskErrors"
import { Data, Option, Schema } from "effect"
import { errorBody, plainErrorBody, reasonErrorBody, fieldsErrorBody } from "../../http/ErrorBody.ts"

export const a2aVersion = "1.0"
/** Content type of the HTTP+JSON binding. */
export const a2aMediaType = "application/a2a+json"

export const A2aTaskNotFoundBody = plainErrorBody(A2aTaskNotFound, {
  status: 404,
  error: "Task not found",
  message: "You have no task with this id at the agent."
})
export const A2aTaskNotCancelableBody = plainErrorBody(A2aTaskNotCancelable, {
  status: 400,
  error: "Task not cancelable",
  message: "The task has ended."
})
export const A2aOperationUnsupportedBody = reasonErrorBody(A2aOperationUnsupported, {
  status: 400,
  error: "Unsupported operation",
  example: "The agent sends no push notifications."
})
export const A2aContentUnsupportedBody = reasonErrorBody(A2aContentUnsupported, {
  status: 400,
  error: "Unsupported content type",
  example: "The agent takes text only."
})
export const A2aRequestInvalidBody = reasonErrorBody(A2aRequestInvalid, {
  status: 400,
  error: "Invalid request",
  example: "message.contextId: is not that of the task."
})
export const A2aVersionUnsupportedBody = errorBody(A2aVersionUnsupported, {
  status: 400,
  error: "Unsupported protocol version",
  message: ({ requested }) =>
    `A2A-Version: ${requested === "" ? "is missing, which means 0.3" : "this version is not supported"}. Send \`A2A-Version: ${a2aVersion}\`.`,
  example: new A2aVersionUnsupported({ requested: "0.3" }),
  read: () => new A2aVersionUnsupported({ requested: "" })
})
export const A2aTaskLimitReachedBody = fieldsErrorBody(A2aTaskLimitReached, {
  status: 429,
  error: "Too many tasks",
  message: ({ limit }) => `You have ${limit} tasks in progress at this agent. Wait for some of them.`,
  members: Schema.Struct({ limit: Schema.Int }),
  example: { limit: 20 }
})
export const PushNotificationNotFoundBody = plainErrorBody(PushNotificationNotFound, {
  status: 404,
  error: "Push notification not found",
  message: "The task has no push notification configuration with this id."
})

/** The protocol has no such method or operation. */
export class A2aMethodNotFound extends Data.TaggedError("A2aMethodNotFound")<object> {}
export const A2aMethodNotFoundBody = plainErrorBody(A2aMethodNotFound, {
  status: 404,
  error: "Method not found",
  message: "The protocol has no such method."
})

/** Domains of error reasons: the protocol's, and the service's. */
const protocolDomain = "a2a-protocol.org"
const serviceDomain = "berth"

interface ProtocolError {
  /** JSON-RPC code. */
  readonly rpc: number
  readonly reason: string
  readonly domain: string
}

const ofProtocol = (rpc: number, reason: string): ProtocolError => ({ rpc, reason, domain: protocolDomain })

/** Errors of the protocol by the code of an error body; sections 5.4 and 9.5 of the specification. */
const protocolErrors: Readonly<Record<string, ProtocolError>> = {
  a2a_task_not_found: ofProtocol(-32001, "TASK_NOT_FOUND"),
  push_notification_not_found: ofProtocol(-32001, "TASK_NOT_FOUND"),
  a2a_task_not_cancelable: ofProtocol(-32002, "TASK_NOT_CANCELABLE"),
  a2a_operation_unsupported: ofProtocol(-32004, "UNSUPPORTED_OPERATION"),
  a2a_content_unsupported: ofProtocol(-32005, "CONTENT_TYPE_NOT_SUPPORTED"),
  media_type_unsupported: ofProtocol(-32005, "CONTENT_TYPE_NOT_SUPPORTED"),
  a2a_version_unsupported: ofProtocol(-32009, "VERSION_NOT_SUPPORTED"),
  a2a_method_not_found: ofProtocol(-32601, "METHOD_NOT_FOUND"),
  a2a_request_invalid: ofProtocol(-32602, "INVALID_PARAMS"),
  message_invalid: ofProtocol(-32602, "INVALID_PARAMS"),
  invalid_request: ofProtocol(-32600, "INVALID_PARAMS"),
  body_malformed: ofProtocol(-32700, "INVALID_PARAMS"),
  internal: { rpc: -32603, reason: "INTERNAL", domain: serviceDomain }
}

/** Errors of this service, in a range below the protocol's codes. */
const findError = (code: string): ProtocolError =>
  protocolErrors[code] ?? { rpc: -32000, reason: code.toUpperCase(), domain: serviceDomain }

/** Names of google.rpc.Code by HTTP status. */
const statusNames: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  405: "UNIMPLEMENTED",
  413: "OUT_OF_RANGE",
  429: "RESOURCE_EXHAUSTED",
  500: "INTERNAL",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE"
}
const failedPreconditions = new Set(["TASK_NOT_CANCELABLE", "UNSUPPORTED_OPERATION", "VERSION_NOT_SUPPORTED"])

const ErrorMembers = Schema.Struct({
  message: Schema.optionalWith(Schema.String, { default: () => "The request failed." }),
  code: Schema.optionalWith(Schema.String, { default: () => "internal" }),
  traceId: Schema.optional(Schema.String)
})
const readErrorMembers = Schema.decodeUnknownOption(ErrorMembers)

const describe = (body: unknown) => {
  const members = Option.getOrElse(readErrorMembers(body), () => ErrorMembers.make({}))
  const { domain, reason, rpc } = findError(members.code)
  const info = { "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason, domain }
  return { rpc, members, info, isOfProtocol: domain === protocolDomain }
}

/** Converts an error body to the HTTP+JSON binding, keeping its members. Total. */
const makeRestFailure = (status: number, body: unknown) => {
  const { members, info, isOfProtocol } = describe(body)
  const code = status === 415 ? 400 : status
  const name = isOfProtocol && failedPreconditions.has(info.reason) ? "FAILED_PRECONDITION" : statusNames[code]
  const error = { code, status: name ?? "UNKNOWN", message: members.message, details: [info] }
  return { status: code, body: { error, ...members }, contentType: a2aMediaType }
}

/**
 * Converts an error body to a JSON-RPC response without the request's id. Errors of the protocol have status 200 and
 * only the members of JSON-RPC. Total.
 */
const makeRpcFailure = (status: number, body: unknown) => {
  const { members, info, isOfProtocol, rpc } = describe(body)
  const { message, traceId } = members
  const metadata = traceId === undefined || !isOfProtocol ? {} : { metadata: { traceId } }
  const failure = { jsonrpc: "2.0", id: null, error: { code: rpc, message, data: [{ ...info, ...metadata }] } }
  return isOfProtocol ? { status: 200, body: failure } : { status, body: { ...failure, ...members } }
}

const a2aPath = /^\/agents\/[^/]+\/a2a(\/|$)/

/** Returns the error format of the protocol's paths. */
export const findA2aErrorShape = (path: string) => {
  const match = a2aPath.exec(path)
  if (match === null) return undefined
  return match[1] === "/" && !path.endsWith("/a2a/") ? makeRestFailure : makeRpcFailure
}
