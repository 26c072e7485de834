import { type ContentPart, hasImage } from "@berth/domain/ai/chat/ContentPart"
import type { CallSignature, ChatMessage, ToolCall } from "@berth/domain/ai/chat/ModelChat"
import { parseToolArguments } from "./PartialToolCall.ts"

/** A call of a tool with what that gave. */
export interface CompletedToolCall {
  /** Like no other's in the conversation, of letters, digits, dashes and underscores. */
  readonly id: string
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
  /** Never blank. */
  readonly result: string
  readonly signature: CallSignature | null
}

export type VendorMessage =
  | { readonly role: "system"; readonly text: string }
  | {
      readonly role: "user"
      readonly text: string
      /** The same with images in their places, where there are some. */
      readonly parts?: ReadonlyArray<ContentPart>
    }
  | { readonly role: "assistant"; readonly text: string; readonly calls: ReadonlyArray<CompletedToolCall> }

const noResult = "There is no result: the tool was not used."
const blankResult = "(nothing)"

const isId = (id: string, longest: number) => id.length <= longest && /^[A-Za-z0-9_-]+$/.test(id)

/** A name that every vendor takes; models make up others too. */
const sanitizeToolName = (name: string) => name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unknown"

/** How many calls of tools a conversation holds. */
export const countToolCalls = (messages: ReadonlyArray<ChatMessage>): number =>
  messages.reduce((sum, message) => sum + (message.role === "assistant" ? (message.toolCalls?.length ?? 0) : 0), 0)

/** The name of a call that has none of its own: its place in the conversation, so that it stays the same. */
export const makeToolCallId = (place: number) => `call_${place}`

/**
 * A conversation as every vendor takes it: each call of a tool has an id of its own, and its one result with it. What a
 * tool gave to a call that is not there is said by the user.
 */
export const toVendorConversation = (
  messages: ReadonlyArray<ChatMessage>,
  longestId = 64
): ReadonlyArray<VendorMessage> => {
  const ids = new Set<string>()
  const used = new Set<number>()
  const said: Array<VendorMessage> = []
  let place = 0

  const idOf = (call: ToolCall): string => {
    place += 1
    let id = isId(call.id, longestId) && !ids.has(call.id) ? call.id : makeToolCallId(place)
    for (let other = 2; ids.has(id); other += 1) id = `${makeToolCallId(place)}_${other}`
    ids.add(id)
    return id
  }

  /** What was given to a call before the assistant spoke again. */
  const resultOf = (call: ToolCall, from: number): string => {
    for (let index = from; index < messages.length; index += 1) {
      const message = messages[index]
      if (message === undefined || message.role === "assistant") break
      if (message.role === "tool" && message.toolCallId === call.id && !used.has(index)) {
        used.add(index)
        return message.content.trim() === "" ? blankResult : message.content
      }
    }
    return noResult
  }

  messages.forEach((message, index) => {
    switch (message.role) {
      case "system":
        said.push({ role: "system", text: message.content })
        break
      case "user":
        said.push({
          role: "user",
          text: message.content,
          ...(message.parts !== undefined && hasImage(message.parts) ? { parts: message.parts } : {})
        })
        break
      case "assistant":
        said.push({
          role: "assistant",
          text: message.content,
          calls: (message.toolCalls ?? []).map((call) => ({
            id: idOf(call),
            name: sanitizeToolName(call.name),
            input: parseToolArguments(call.arguments),
            result: resultOf(call, index + 1),
            signature: call.signature ?? null
          }))
        })
        break
      case "tool":
        if (!used.has(index)) said.push({ role: "user", text: `${message.toolName} gave: ${message.content}` })
    }
  })
  return said
}
