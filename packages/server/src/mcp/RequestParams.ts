import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js"
import type * as Sdk from "@modelcontextprotocol/sdk/types.js"

const describeViolations = (
  { CallToolRequestSchema, InitializeRequestSchema, ListToolsRequestSchema, PingRequestSchema }: typeof Sdk,
  request: Sdk.JSONRPCRequest
): string | undefined =>
  [InitializeRequestSchema, PingRequestSchema, ListToolsRequestSchema, CallToolRequestSchema]
    .find(({ shape }) => shape.method.value === request.method)
    ?.safeParse(request)
    .error?.issues.map(({ message, path }) => `${path.join(".")}: ${message}`)
    .join("; ")

/** Refuses requests with invalid parameters, which the library reports as internal errors. */
export const refuseInvalidParams = (transport: WebStandardStreamableHTTPServerTransport, sdk: typeof Sdk): void => {
  const receive = transport.onmessage
  const refuse = (id: Sdk.RequestId, violations: string) => {
    const error = { code: sdk.ErrorCode.InvalidParams, message: violations }
    // Fails if the client is disconnected.
    transport.send({ jsonrpc: "2.0", id, error }).catch(() => undefined)
  }
  transport.onmessage = (message, extra) => {
    const request = sdk.isJSONRPCRequest(message) ? message : undefined
    const violations = request === undefined ? undefined : describeViolations(sdk, request)
    if (request === undefined || violations === undefined) receive?.(message, extra)
    else refuse(request.id, violations)
  }
}
