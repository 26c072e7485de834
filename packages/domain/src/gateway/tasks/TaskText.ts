import { Either } from "effect"
import { hasImage } from "../../ai/chat/ContentPart.ts"
import type { ChatMessage } from "../../ai/chat/ModelChat.ts"
import { PluginInputInvalid } from "../plugins/PluginRun.ts"

/** The history and the task. Results of earlier tool calls are text, since the agent lacks those tools. */
export interface TaskText {
  /** The caller's system messages; empty without any. */
  readonly context: string
  /** Oldest first; no empty content. */
  readonly history: ReadonlyArray<{ readonly role: "user" | "assistant"; readonly content: string }>
  /** Not blank. */
  readonly task: string
}

/** Maximum characters of the task with its context. */
export const maximumTaskLength = 100_000

const invalid = (reason: string) => Either.left(new PluginInputInvalid({ field: "messages", reason }))

const readHistory = (message: ChatMessage): TaskText["history"] => {
  const { content, role } = message
  if (role === "system" || content.trim() === "") return []
  return role === "tool"
    ? [{ role: "user", content: `Result of ${message.toolName}:\n${content}` }]
    : [{ role, content }]
}

/** Reads a task from chat messages; the last message is the task. */
export const parseTaskText = (messages: ReadonlyArray<ChatMessage>): Either.Either<TaskText, PluginInputInvalid> => {
  const context = messages
    .flatMap(({ content, role }) => (role === "system" && content.trim() !== "" ? [content.trim()] : []))
    .join("\n\n")
  const conversation = messages.filter(({ role }) => role !== "system")
  const last = conversation.at(-1)
  if (last === undefined) return invalid("must have a message of the user")
  if (last.role !== "user") return invalid("must end with a message of the user")
  if (conversation.some((message) => message.role === "user" && message.parts !== undefined && hasImage(message.parts)))
    return invalid("must be text: agents read no images")
  if (last.content.trim() === "") return invalid("must end with a message that is not empty")
  if (context.length + last.content.length > maximumTaskLength)
    return invalid(
      `must end with a message of at most ${maximumTaskLength} characters, those of system messages included`
    )
  return Either.right({ context, history: conversation.slice(0, -1).flatMap(readHistory), task: last.content })
}

/**
 * Prepends the context to the task. Only the owner writes an agent's system prompt, so a caller's system messages are
 * part of the task.
 */
export const formatTaskWithContext = ({ context, task }: Pick<TaskText, "context" | "task">): string =>
  context === "" ? task : `Context of the task:\n${context}\n\nThe task:\n${task}`
