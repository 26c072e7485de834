import { RuntimeMcpTools } from "@berth/api/runtime/RuntimeContract"
import * as Tool from "@berth/domain/skills/tools/Tool"
import { Duration, Effect, Schema } from "effect"
import type { AgentTool, TurnAgent } from "../Toolbox.ts"
import { McpBackend } from "../BackendCalls.ts"

/** Longer than the backend's wait for a server. */
const timeout = Duration.seconds(70)

const decodeTools = Schema.decode(RuntimeMcpTools)
const decodeArguments = Tool.decodeArguments(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

/**
 * Lists the tools of an agent's MCP servers, without those whose names are in use. On failure, the turn continues
 * without them.
 */
export const listMcpTools = Effect.fnUntraced(
  function* (agent: TurnAgent, taken: ReadonlyArray<AgentTool>) {
    const call = yield* McpBackend
    if (agent.hasMcpServers !== true) return []
    const names = new Set(taken.map(({ spec }) => spec.name))
    const listed = yield* Effect.flatMap(call(agent, { action: "list" }), decodeTools)
    return listed.flatMap(({ server, spec, tool }): ReadonlyArray<AgentTool> => {
      if (names.has(spec.name)) return []
      names.add(spec.name)
      const run: AgentTool["run"] = (text, turn) =>
        Tool.parseArguments(text).pipe(
          Effect.flatMap(decodeArguments),
          Effect.flatMap((args) => call(turn, { action: "call", server, tool, arguments: args }))
        )
      return [{ spec, timeout, run }]
    })
  },
  Effect.catchAll((fault) =>
    Effect.as(
      Effect.annotateLogs(Effect.logWarning("Tools of MCP servers not listed"), { kind: fault._tag }),
      new Array<AgentTool>()
    )
  )
)
