import { AgentId } from "@berth/domain/shared/AgentId"
import { maximumMcpServers, McpServerName, McpServersInvalid } from "@berth/domain/skills/mcp/McpServer"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { Schema } from "effect"
import { reasonErrorBody } from "../http/ErrorBody.ts"
import { namesFirstItem, payload, refusesUnknownMembers, SecretText } from "../http/Payload.ts"
import { Timestamp } from "../http/Timestamp.ts"
import { InternalFailureBody } from "../http/TransportErrors.ts"
import { acceptApiKeys } from "../sessions/RequiredScope.ts"
import { AgentNotFoundBody } from "./AgentErrorBodies.ts"
import { AgentOwner } from "./OwnedAgent.ts"

const McpServersInvalidBody = reasonErrorBody(McpServersInvalid, {
  status: 400,
  error: "Invalid MCP servers",
  example: "`url` of weather must be an absolute URL."
})

const path = Schema.Struct({ id: AgentId })

const McpServerView = Schema.Struct({
  name: McpServerName,
  url: Schema.String.annotations({ description: "With `***` for each query value" }),
  headers: Schema.Array(Schema.String).annotations({ description: "Names only; values are never returned" }),
  updatedAt: Timestamp
}).annotations({ identifier: "McpServerView" })

const McpServerInput = Schema.Struct({
  name: McpServerName.annotations({ description: "Prefix of the names of its tools, for example `notes__search`" }),
  url: Schema.String.annotations({
    description: "Address of its streamable HTTP transport. The masked address of a response keeps the query values"
  }),
  headers: Schema.optionalWith(Schema.Record({ key: Schema.String, value: SecretText }), { exact: true }).annotations({
    description:
      "Headers of every request, such as `Authorization`. Absent: the headers stored for this name are kept, unless `url` changes"
  })
}).annotations({ identifier: "McpServerInput", ...refusesUnknownMembers })

const servers = Schema.Struct({ servers: Schema.Array(McpServerView), count: Schema.Int })

const list = HttpApiEndpoint.get("list", "/api/agents/:id/mcp-servers")
  .setPath(path)
  .addSuccess(servers)
  .annotate(OpenApi.Summary, "List the MCP servers of an agent")
  .annotate(OpenApi.Description, "Ordered by name. Secrets are never returned.")

const replace = HttpApiEndpoint.put("replace", "/api/agents/:id/mcp-servers")
  .setPath(path)
  .setPayload(payload({ servers: Schema.Array(McpServerInput).annotations(namesFirstItem) }))
  .addSuccess(servers)
  .addError(McpServersInvalidBody)
  .addError(AgentNotFoundBody)
  .annotate(OpenApi.Summary, "Replace the MCP servers of an agent")
  .annotate(
    OpenApi.Description,
    `At most ${maximumMcpServers}. The agent uses their tools in conversations with its owner. The service calls them, at public addresses only; headers are never sent to the agent's instance. The agent's log names unreachable servers.`
  )

export class McpServersApi extends HttpApiGroup.make("mcpServers")
  .add(list)
  .add(replace)
  .middlewareEndpoints(AgentOwner)
  .annotateEndpointsContext(acceptApiKeys("agents"))
  .addError(InternalFailureBody) {}
