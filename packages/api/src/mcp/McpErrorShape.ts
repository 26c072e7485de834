import { Option, Schema } from "effect"
import { mcpPath } from "./McpApi.ts"

const BodyMalformed = Schema.Struct({
  message: Schema.String,
  code: Schema.Literal("body_malformed"),
  traceId: Schema.optional(Schema.String)
})
const readBodyMalformed = Schema.decodeUnknownOption(BodyMalformed)

/** Malformed JSON as the parse error of JSON-RPC 2.0, section 5.1; every other error keeps its shape. Total. */
const reshapeMalformed = (status: number, body: unknown) => ({
  status,
  body: Option.match(readBodyMalformed(body), {
    onNone: () => body,
    onSome: (given) => ({ jsonrpc: "2.0", id: null, ...given, error: { code: -32_700, message: given.message } })
  })
})

/** The shape of errors at the path of the protocol. */
export const findMcpErrorShape = (path: string) =>
  path === mcpPath || path === `${mcpPath}/` ? reshapeMalformed : undefined
