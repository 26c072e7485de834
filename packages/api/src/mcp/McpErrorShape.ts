import { Option, Schema } from "effect"
import { mcpPath } from "./McpApi.ts"

/** JSON-RPC 2.0, section 5.1. */
const codes = { body_malformed: -32_700, batch_empty: -32_600 } as const

const NoMessage = Schema.Struct({
  message: Schema.String,
  code: Schema.Literal("body_malformed", "batch_empty"),
  traceId: Schema.optional(Schema.String)
})
const readNoMessage = Schema.decodeUnknownOption(NoMessage)

/** Converts bodies without a message to JSON-RPC errors; other errors are unchanged. Total. */
const reshapeNoMessage = (status: number, body: unknown) => ({
  status,
  body: Option.match(readNoMessage(body), {
    onNone: () => body,
    onSome: (given) => ({
      jsonrpc: "2.0",
      id: null,
      ...given,
      error: { code: codes[given.code], message: given.message }
    })
  })
})

/** Returns the error format of the protocol's path. */
export const findMcpErrorShape = (path: string) =>
  path === mcpPath || path === `${mcpPath}/` ? reshapeNoMessage : undefined

const RequestWithId = Schema.Struct({ id: Schema.Union(Schema.String, Schema.Int), method: Schema.String })
const readRequest = Schema.decodeUnknownOption(RequestWithId)
const AnonymousError = Schema.parseJson(
  Schema.Struct({ jsonrpc: Schema.Literal("2.0"), error: Schema.Unknown, id: Schema.Null })
)
const readAnonymousError = Schema.decodeUnknownOption(AnonymousError)

/** Adds the id of the request to a transport error (JSON-RPC 2.0, section 5). */
export const insertRequestId = (text: string, request: unknown): string =>
  Option.match(Option.all({ failed: readAnonymousError(text), request: readRequest(request) }), {
    onNone: () => text,
    onSome: ({ failed, request: { id } }) => JSON.stringify({ ...failed, id })
  })
