import { hasImage, textIn } from "@berth/domain/ai/ContentPart"
import type { ChatMessage } from "@berth/domain/ai/ModelChat"
import type { AiChatMessage, ChatPayload } from "./AiApi.ts"
import { formatOf, partsOf, type TextContent, type UserContent } from "./ChatContent.ts"

/** The text of what holds nothing else. */
export const plainText = (content: typeof TextContent.Type): string =>
  typeof content === "string" ? content : textIn(content)

/** What a user says, in the words of the AI layer. */
export const userMessage = (content: typeof UserContent.Type): ChatMessage => {
  if (typeof content === "string") return { role: "user", content }
  const parts = partsOf(content)
  return { role: "user", content: textIn(parts), ...(hasImage(parts) ? { parts } : {}) }
}

export const chatMessage = (message: typeof AiChatMessage.Type): ChatMessage =>
  message.role === "user" ? userMessage(message.content) : { role: message.role, content: plainText(message.content) }

/** What is asked of a model, and how. */
export const chatRequest = (payload: typeof ChatPayload.Type) => ({
  messages: payload.messages.map(chatMessage),
  model: payload.model,
  taskType: payload.taskType,
  options: {
    temperature: payload.temperature,
    topP: payload.top_p,
    maxTokens: payload.max_tokens,
    responseFormat: formatOf(payload.response_format)
  }
})
