import { JSONSchema, Option, Predicate, Schema } from "effect"

/** JSON-RPC 2.0, section 5.1. */
const parseError = -32_700
const invalidRequest = -32_600
const codes = { body_malformed: parseError, batch_empty: invalidRequest } as const

const NoMessage = Schema.Struct({
  message: Schema.String,
  code: Schema.Literal("body_malformed", "batch_empty"),
  traceId: Schema.optional(Schema.String)
})
const readNoMessage = Schema.decodeUnknownOption(NoMessage)

const RpcError = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.NullOr(Schema.Union(Schema.String, Schema.Number)),
  error: Schema.Struct({ code: Schema.Number, message: Schema.String })
})
const TransportFailure = Schema.Struct({
  ...RpcError.fields,
  code: Schema.String,
  traceId: Schema.optional(Schema.String)
})
const readTransportFailure = Schema.decodeUnknownOption(TransportFailure)

/** JSON-RPC 2.0, section 5: no other members are allowed, so those of the service are `data`. */
const toRpcError = ({ code, error, id, traceId }: Omit<typeof TransportFailure.Type, "jsonrpc">) => ({
  jsonrpc: "2.0",
  id,
  error: { ...error, data: { code, traceId } }
})

/** Converts transport errors and bodies without a message to JSON-RPC errors; other errors are unchanged. Total. */
const reshapeRefusal = (status: number, body: unknown) => ({
  status,
  body: readTransportFailure(body).pipe(
    Option.map(toRpcError),
    Option.orElse(() =>
      Option.map(readNoMessage(body), ({ message, ...members }) =>
        toRpcError({ id: null, error: { code: codes[members.code], message }, ...members })
      )
    ),
    Option.getOrElse(() => body)
  )
})

export const mcpPath = "/mcp"

/** Returns the error format of the protocol's path. */
export const findMcpErrorShape = (path: string) =>
  path === mcpPath || path === `${mcpPath}/` ? reshapeRefusal : undefined

const RequestWithId = Schema.Struct({ id: Schema.Union(Schema.String, Schema.Int), method: Schema.String })
const readRequest = Schema.decodeUnknownOption(RequestWithId)
const TransportError = Schema.parseJson(
  Schema.Struct({
    jsonrpc: Schema.Literal("2.0"),
    error: Schema.Struct({ code: Schema.Int, message: Schema.String }),
    id: Schema.Null
  })
)
const readTransportError = Schema.decodeUnknownOption(TransportError)

/** The transport reports well-formed JSON that is no message as a parse error. */
const correctCode = (error: { readonly code: number; readonly message: string }) =>
  error.code === parseError ? { code: invalidRequest, message: "The request body is not a JSON-RPC message." } : error

/** Adds the id of the request (JSON-RPC 2.0, section 5) and the service's code to a transport error. */
export const completeTransportError = (status: number, text: string, request: unknown): string =>
  Option.match(readTransportError(text), {
    onNone: () => text,
    onSome: (failed) => {
      const error = correctCode(failed.error)
      return JSON.stringify({
        ...failed,
        error,
        id: Option.match(readRequest(request), { onNone: () => null, onSome: ({ id }) => id }),
        code: status === 406 ? "not_acceptable" : "invalid_request"
      })
    }
  })

const McpError = Schema.Struct({
  ...RpcError.fields,
  error: Schema.Struct({
    ...RpcError.fields.error.fields,
    data: Schema.Struct({ code: Schema.String, traceId: Schema.optional(Schema.String) })
  })
})

export const documentMcpErrors = (operation: Record<string, unknown>): Record<string, unknown> => {
  const content = { "application/json": { schema: JSONSchema.make(McpError) } }
  return {
    ...operation,
    responses: {
      ...(Predicate.isRecord(operation["responses"]) && operation["responses"]),
      "400": { description: "The message is rejected", content },
      "406": { description: "`Accept` lacks application/json or text/event-stream", content }
    }
  }
}
