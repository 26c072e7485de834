import { hasImage, joinTextParts } from "@berth/domain/ai/chat/ContentPart"
import type { ChatMessage } from "@berth/domain/ai/chat/ModelChat"
import type { AiChatMessage, ChatPayload } from "./AiApi.ts"
import { parseResponseFormat, parseContentParts, type TextContent, type UserContent } from "./ChatContent.ts"

export const extractText = (content: typeof TextContent.Type): string =>
  typeof content === "string" ? content : joinTextParts(content)

export const makeUserMessage = (content: typeof UserContent.Type): Extract<ChatMessage, { role: "user" }> => {
  if (typeof content === "string") return { role: "user", content }
  const parts = parseContentParts(content)
  return { role: "user", content: joinTextParts(parts), ...(hasImage(parts) ? { parts } : {}) }
}

export const makeChatMessage = (message: typeof AiChatMessage.Type): ChatMessage =>
  message.role === "user"
    ? makeUserMessage(message.content)
    : { role: message.role, content: extractText(message.content) }

export const makeChatRequest = (payload: typeof ChatPayload.Type) => ({
  messages: payload.messages.map(makeChatMessage),
  model: payload.model,
  taskType: payload.taskType,
  options: {
    temperature: payload.temperature,
    topP: payload.top_p,
    maxTokens: payload.max_tokens,
    responseFormat: parseResponseFormat(payload.response_format)
  }
})
