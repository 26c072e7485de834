import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "@effect/platform"
import { Data, Schema } from "effect"
import { EventStream } from "../http/EventStream.ts"
import { plainErrorBody } from "../http/ErrorBody.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { RateLimitExceededBody } from "../limits/RateLimits.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { PrincipalAuth } from "../sessions/SessionAuth.ts"
import { documentMcpErrors, mcpPath } from "./McpErrorShape.ts"

const JsonRpcMessage = Schema.Struct({
  jsonrpc: Schema.Literal("2.0"),
  id: Schema.optional(Schema.Union(Schema.String, Schema.Int)),
  method: Schema.optional(Schema.String),
  params: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
}).annotations({ identifier: "JsonRpcMessage" })

/** JSON-RPC 2.0, section 6: an empty array is an invalid request. */
export class BatchEmpty extends Data.TaggedError("BatchEmpty")<object> {}
const BatchEmptyBody = plainErrorBody(BatchEmpty, {
  status: 400,
  error: "Invalid request",
  message: "A batch has at least one message."
})

const send = HttpApiEndpoint.post("send", mcpPath)
  .setPayload(Schema.Union(JsonRpcMessage, Schema.Array(JsonRpcMessage)))
  .addSuccess(EventStream)
  .addSuccess(HttpApiSchema.Empty(202))
  .addError(RateLimitExceededBody)
  .addError(BatchEmptyBody)
  .annotate(
    OpenApi.Description,
    "A Model Context Protocol server (streamable HTTP, stateless). Each of the caller's agents is a tool that sends it a message; with the scope `agents`, its enabled skills are tools too. Both are charged like other calls."
  )
  .annotate(OpenApi.Summary, "Use agents as tools of the Model Context Protocol")

/** The caller's agents as tools of the Model Context Protocol. */
export class McpApi extends HttpApiGroup.make("mcp")
  .add(send)
  .middlewareEndpoints(PrincipalAuth)
  .annotateEndpointsContext(acceptApiKeys("chat", documentMcpErrors))
  .addError(InternalFailureBody) {}
