import { hasImage, textIn } from "@berth/domain/ai/ContentPart"
import type { ChatMessage } from "@berth/domain/ai/ModelChat"
import { partsOf, type TextContent, type UserContent } from "./ChatContent.ts"

/** The text of what holds nothing else. */
export const plainText = (content: typeof TextContent.Type): string =>
  typeof content === "string" ? content : textIn(content)

/** What a user says, in the words of the AI layer. */
export const userMessage = (content: typeof UserContent.Type): ChatMessage => {
  if (typeof content === "string") return { role: "user", content }
  const parts = partsOf(content)
  return { role: "user", content: textIn(parts), ...(hasImage(parts) ? { parts } : {}) }
}
