import type { Agent } from "@berth/domain/agents/Agent"
import type { Skill } from "@berth/domain/skills/Skill"
import { Schema } from "effect"
import { a2aVersion } from "./A2aErrorBodies.ts"

const record = Schema.Record({ key: Schema.String, value: Schema.Unknown })

/** Card of an agent, section 4.4 of the A2A protocol 1.0. */
export const AgentCard = Schema.Struct({
  name: Schema.String,
  description: Schema.String,
  version: Schema.String,
  supportedInterfaces: Schema.Array(
    Schema.Struct({
      url: Schema.String,
      protocolBinding: Schema.Literal("JSONRPC", "HTTP+JSON"),
      protocolVersion: Schema.String
    })
  ),
  provider: Schema.Struct({ organization: Schema.String, url: Schema.String }),
  documentationUrl: Schema.String,
  capabilities: Schema.Struct({
    streaming: Schema.Boolean,
    pushNotifications: Schema.Boolean,
    extendedAgentCard: Schema.Boolean
  }),
  securitySchemes: Schema.Record({ key: Schema.String, value: record }),
  securityRequirements: Schema.Array(record),
  defaultInputModes: Schema.Array(Schema.String),
  defaultOutputModes: Schema.Array(Schema.String),
  skills: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      name: Schema.String,
      description: Schema.String,
      tags: Schema.Array(Schema.String)
    })
  )
}).annotations({ identifier: "A2aAgentCard" })
export type AgentCard = typeof AgentCard.Type

const inputModes = ["text/plain", "application/json"]
export const outputModes = ["text/plain"]

/** Returns the path of both bindings. */
const a2aPathOf = (id: string): string => `/agents/${id}/a2a`

const conversation = {
  id: "conversation",
  name: "Conversation",
  description: "Answers messages in natural language, and remembers those of the same context",
  tags: ["conversation"]
}

/** `version`: version of the service. */
export const makeAgentCard = (
  agent: Pick<Agent, "id" | "name">,
  skills: ReadonlyArray<Skill>,
  { appUrl, version }: { readonly appUrl: URL; readonly version: string }
): AgentCard => {
  const url = new URL(a2aPathOf(agent.id), appUrl).href
  return {
    name: agent.name,
    description: `The agent ${agent.name}, hosted by Berth`,
    version,
    supportedInterfaces: [
      { url, protocolBinding: "JSONRPC", protocolVersion: a2aVersion },
      { url, protocolBinding: "HTTP+JSON", protocolVersion: a2aVersion }
    ],
    provider: { organization: "Berth", url: appUrl.origin },
    documentationUrl: new URL("/docs", appUrl).href,
    capabilities: { streaming: true, pushNotifications: true, extendedAgentCard: true },
    securitySchemes: {
      apiKey: {
        httpAuthSecurityScheme: { scheme: "Bearer", description: "An API key of your account with the scope `chat`" }
      },
      gatewayToken: {
        httpAuthSecurityScheme: { scheme: "Bearer", description: "The gateway token of the agent's instance" }
      }
    },
    securityRequirements: [{ schemes: { apiKey: { list: [] } } }, { schemes: { gatewayToken: { list: [] } } }],
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    skills: [conversation, ...skills.map(({ description, id, name }) => ({ id, name, description, tags: [id] }))]
  }
}
