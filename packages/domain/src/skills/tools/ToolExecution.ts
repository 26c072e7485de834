import { Duration, Effect } from "effect"
import type { ChatMessage, ToolCall } from "../../ai/chat/ModelChat.ts"
import type { Tool } from "./Tool.ts"

/** Characters of a result that a model is given. */
export const maximumToolResultLength = 20_000

const cutMark = "\n[The rest was cut off: the result was too long.]"

/** What a model may be given: not too long, and nothing in it that cannot be sent or stored. */
export const sanitizeToolResult = (text: string): string => {
  const cut =
    text.length > maximumToolResultLength ? text.slice(0, maximumToolResultLength - cutMark.length) + cutMark : text
  return cut.toWellFormed().replaceAll("\u0000", "\uFFFD")
}

interface Answer {
  readonly outcome: "ok" | "refused" | "timeout" | "unknown" | "broken"
  readonly content: string
}

const noSuchTool = <Who>(tools: ReadonlyArray<Tool<Who>>): Answer => ({
  outcome: "unknown",
  content: `There is no tool of that name. Your tools are: ${tools.map(({ spec }) => spec.name).join(", ") || "none"}.`
})

const answer = <Who>(tool: Tool<Who>, who: Who, call: ToolCall): Effect.Effect<Answer> =>
  tool.run(call.arguments, who).pipe(
    // A tool that cannot be interrupted is left behind.
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
      // Only what kind of thing it was: its words may be those of a conversation.
      Effect.logError("A tool broke").pipe(
        Effect.annotateLogs({ tool: tool.spec.name, kind: defect instanceof Error ? defect.name : typeof defect }),
        Effect.as<Answer>({ outcome: "broken", content: "The tool failed for a reason of its own. Do without it." })
      )
    )
  )

/**
 * Answers a model's call. Whatever goes wrong is an answer too, so that the model can do better: a turn never fails by
 * its tools. The log says which tool, how long and with what outcome; never what it was about.
 */
export const runTool = <Who>(tools: ReadonlyArray<Tool<Who>>, who: Who, call: ToolCall): Effect.Effect<ChatMessage> =>
  Effect.suspend(() => {
    const tool = tools.find(({ spec }) => spec.name === call.name)
    // The name of a tool that is not there is the model's own words.
    const name = tool?.spec.name ?? "unknown"
    return (tool === undefined ? Effect.succeed(noSuchTool(tools)) : answer(tool, who, call)).pipe(
      Effect.timed,
      Effect.tap(([duration, { outcome }]) =>
        Effect.logInfo("A tool was used").pipe(
          Effect.annotateLogs({ tool: name, durationMs: Math.round(Duration.toMillis(duration)), outcome })
        )
      ),
      Effect.map(([, { content }]): ChatMessage => makeToolMessage(call, content)),
      Effect.withSpan("Tools.run", {
        attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name }
      })
    )
  })

export const makeToolMessage = (call: ToolCall, content: string): ChatMessage => ({
  role: "tool",
  content: content.trim() === "" ? "(nothing)" : sanitizeToolResult(content),
  toolCallId: call.id,
  toolName: call.name
})
