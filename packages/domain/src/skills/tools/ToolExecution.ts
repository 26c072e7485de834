import { Duration, Effect } from "effect"
import type { ChatMessage, ToolCall } from "../../ai/chat/ModelChat.ts"
import type { Tool } from "./Tool.ts"

export const maximumToolResultLength = 20_000

const cutMark = "\n[The rest was cut off: the result was too long.]"

/** Truncates a result and removes characters that cannot be sent or stored. */
export const sanitizeToolResult = (text: string): string => {
  const cut =
    text.length > maximumToolResultLength ? text.slice(0, maximumToolResultLength - cutMark.length) + cutMark : text
  return cut.toWellFormed().replaceAll("\u0000", "\uFFFD")
}

interface Answer {
  readonly outcome: "ok" | "refused" | "timeout" | "unknown" | "broken"
  readonly content: string
}

const noSuchTool = <Caller>(tools: ReadonlyArray<Tool<Caller>>): Answer => ({
  outcome: "unknown",
  content: `There is no tool of that name. Your tools are: ${tools.map(({ spec }) => spec.name).join(", ") || "none"}.`
})

const answer = <Caller>(tool: Tool<Caller>, caller: Caller, call: ToolCall): Effect.Effect<Answer> =>
  tool.run(call.arguments, caller).pipe(
    // The timeout abandons an uninterruptible tool.
    Effect.disconnect,
    Effect.timeoutTo({
      duration: tool.timeout,
      onSuccess: (content): Answer => ({ outcome: "ok", content }),
      onTimeout: (): Answer => ({
        outcome: "timeout",
        content: `The tool did not answer within ${Duration.format(tool.timeout)}.`
      })
    }),
    Effect.catchAll(({ reason }) => Effect.succeed<Answer>({ outcome: "refused", content: reason })),
    Effect.catchAllDefect((defect) =>
      // The message may contain parts of a conversation.
      Effect.logError("Tool failed unexpectedly").pipe(
        Effect.annotateLogs({ tool: tool.spec.name, kind: defect instanceof Error ? defect.name : typeof defect }),
        Effect.as<Answer>({ outcome: "broken", content: "The tool failed for a reason of its own. Do without it." })
      )
    )
  )

export interface ToolResult {
  readonly message: ChatMessage
  readonly hasSucceeded: boolean
}

/**
 * Runs a tool call. Every failure is returned as a result, so that the model can recover. Never logs arguments or
 * results.
 */
export const runTool = <Caller>(
  tools: ReadonlyArray<Tool<Caller>>,
  caller: Caller,
  call: ToolCall
): Effect.Effect<ToolResult> =>
  Effect.suspend(() => {
    const tool = tools.find(({ spec }) => spec.name === call.name)
    // An unknown name is text of the model, so it is not a label.
    const name = tool?.spec.name ?? "unknown"
    return (tool === undefined ? Effect.succeed(noSuchTool(tools)) : answer(tool, caller, call)).pipe(
      Effect.timed,
      Effect.tap(([duration, { outcome }]) =>
        Effect.logInfo("Tool finished").pipe(
          Effect.annotateLogs({ tool: name, durationMs: Math.round(Duration.toMillis(duration)), outcome })
        )
      ),
      Effect.map(([, { content, outcome }]) => ({
        message: makeToolMessage(call, content),
        hasSucceeded: outcome === "ok"
      })),
      Effect.withSpan("Tools.run", {
        attributes: {
          "gen_ai.operation.name": "execute_tool",
          "gen_ai.tool.name": name,
          "gen_ai.tool.type": "function",
          "gen_ai.tool.call.id": call.id
        }
      })
    )
  })

export const makeToolMessage = (call: ToolCall, content: string): ChatMessage => ({
  role: "tool",
  content: content.trim() === "" ? "(nothing)" : sanitizeToolResult(content),
  toolCallId: call.id,
  toolName: call.name
})
