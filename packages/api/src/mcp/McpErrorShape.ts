import { Option, Schema } from "effect"
import { mcpPath } from "./McpApi.ts"

/** Codes of JSON-RPC 2.0, section 5.1, by the code of an error body. */
const rpcCodes = { body_malformed: -32_700, invalid_request: -32_600 }
const RequestError = Schema.Struct({
  message: Schema.String,
  code: Schema.Literal("body_malformed", "invalid_request"),
  traceId: Schema.optional(Schema.String)
})
const readRequestError = Schema.decodeUnknownOption(RequestError)

/** A request that is no message of JSON-RPC, as its response without an id; every other error keeps its shape. Total. */
const reshapeRequestError = (status: number, body: unknown) => ({
  status,
  body: Option.match(readRequestError(body), {
    onNone: () => body,
    onSome: (given) => ({
      jsonrpc: "2.0",
      id: null,
      ...given,
      error: { code: rpcCodes[given.code], message: given.message }
    })
  })
})

/** The shape of errors at the path of the protocol. */
export const findMcpErrorShape = (path: string) =>
  path === mcpPath || path === `${mcpPath}/` ? reshapeRequestError : undefined
