import { Hash, Option } from "effect"
import type { ToolSpec } from "../../ai/chat/ModelChat.ts"

export interface ListedMcpTool {
  readonly name: string
  readonly description?: string | undefined
  readonly inputSchema: Readonly<Record<string, unknown>>
}

/** A server's tool as declared to the model. `tool` is the server's name. */
export interface McpTool {
  readonly server: string
  readonly tool: string
  readonly spec: ToolSpec
}

export const maximumMcpTools = 64
/** Maximum characters of a description, of a tool's declaration, and of all declarations of an agent. */
const maximumDescription = 1024
const maximumDeclaration = 8_192
const maximumDeclarations = 65_536
const maximumNameLength = 64

/** Unambiguous, since a server's name has no double underscore. Names that models reject get a hash. */
export const nameMcpTool = (server: string, tool: string): string => {
  const name = `${server}__${tool}`
  if (/^[A-Za-z0-9_-]+$/.test(tool) && name.length <= maximumNameLength) return name
  const hash = (Hash.string(tool) >>> 0).toString(36)
  const sanitized = name.replaceAll(/[^A-Za-z0-9_-]/g, "_")
  return `${sanitized.slice(0, maximumNameLength - 1 - hash.length)}_${hash}`
}

/** Control and bidirectional characters hide text from the owner. */
const cleanText = (text: string) =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .toWellFormed()
    .trim()
    .slice(0, maximumDescription)

const declare = (server: string, { description = "", inputSchema, name }: ListedMcpTool): McpTool => {
  const { $schema: _, ...schema } = inputSchema
  return {
    server,
    tool: name,
    spec: {
      name: nameMcpTool(server, name),
      description: `Tool of the MCP server ${server}. ${cleanText(description)}`.trimEnd(),
      parameters: { properties: {}, ...schema, type: "object" }
    }
  }
}

const serialize = Option.liftThrowable((spec: ToolSpec) => JSON.stringify(spec))

/** Infinite for a schema nested too deeply. */
const lengthOf = ({ spec }: McpTool) =>
  Option.match(serialize(spec), { onNone: () => Infinity, onSome: (text) => text.length })

/** Returns the tools of a server that a model accepts, within the agent's limit. The first of two equal names wins. */
export const declareMcpTools = (server: string, listed: ReadonlyArray<ListedMcpTool>): ReadonlyArray<McpTool> => {
  const tools = listed.map((tool) => declare(server, tool)).filter((tool) => lengthOf(tool) <= maximumDeclaration)
  return limitMcpTools([...new Map([...tools].reverse().map((tool) => [tool.spec.name, tool])).values()].reverse())
}

/** Returns the first tools that fit into the prompt of an agent. */
export const limitMcpTools = (tools: ReadonlyArray<McpTool>): ReadonlyArray<McpTool> => {
  let left = maximumDeclarations
  return tools.slice(0, maximumMcpTools).filter((tool) => (left -= lengthOf(tool)) >= 0)
}
