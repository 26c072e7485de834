import { Effect } from "effect"
import { AgentLog } from "../../instances/AgentLog.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { McpTools } from "../../skills/mcp/McpTools.ts"
import { TurnNotInProgress } from "./TurnErrors.ts"
import { type AgentTurn, TurnRepository } from "./TurnRepository.ts"

/** A call of a tool; `tool` is named as by the server. */
interface McpToolCall {
  readonly server: string
  readonly tool: string
  readonly arguments: Readonly<Record<string, unknown>>
}

/** Tools of MCP servers for turns in progress. */
export class TurnMcpTools extends Effect.Service<TurnMcpTools>()("@berth/TurnMcpTools", {
  dependencies: [McpTools.Default],
  effect: Effect.gen(function* () {
    const turns = yield* TurnRepository
    const limiter = yield* RateLimiter
    const log = yield* AgentLog
    const tools = yield* McpTools

    const requireTurn = (turn: AgentTurn) =>
      Effect.flatMap(
        turns.find(turn),
        Effect.mapError(() => new TurnNotInProgress())
      )

    /** Returns the tools of the reachable servers; logs the others. */
    const list = Effect.fn("TurnMcpTools.list")(function* (turn: AgentTurn) {
      yield* requireTurn(turn)
      const listed = yield* tools.list(turn.agentId)
      yield* Effect.forEach(listed.failures, ({ reason, server }) =>
        log.append(turn.agentId, "warning", `MCP server ${server} offers no tools: ${reason}`)
      )
      return listed.tools
    })

    const call = Effect.fn("TurnMcpTools.call")(function* (
      turn: AgentTurn,
      { arguments: args, server, tool }: McpToolCall
    ) {
      yield* limiter.take("runtime-page", turn.userId)
      yield* requireTurn(turn)
      return yield* tools
        .call(turn.agentId, server, tool, args)
        .pipe(
          Effect.tapError(({ reason }) =>
            log.append(turn.agentId, "warning", `MCP server ${server}: ${tool.slice(0, 100)} failed: ${reason}`)
          )
        )
    })

    return { list, call }
  })
}) {}
