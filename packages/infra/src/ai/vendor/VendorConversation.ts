import { type ContentPart, hasImage } from "@berth/domain/ai/chat/ContentPart"
import type { CallSignature, ChatMessage, ToolCall } from "@berth/domain/ai/chat/ModelChat"
import { parseToolArguments } from "./PartialToolCall.ts"

export interface CompletedToolCall {
  /** Unique in the conversation; letters, digits, dashes and underscores. */
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
      /** Parts of the message; absent without images. */
      readonly parts?: ReadonlyArray<ContentPart>
    }
  | { readonly role: "assistant"; readonly text: string; readonly calls: ReadonlyArray<CompletedToolCall> }

const noResult = "There is no result: the tool was not used."
const blankResult = "(nothing)"

const isId = (id: string, maximumLength: number) => id.length <= maximumLength && /^[A-Za-z0-9_-]+$/.test(id)

/** Returns a name that every vendor accepts, since models may invent names. */
const sanitizeToolName = (name: string) => name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unknown"

export const countToolCalls = (messages: ReadonlyArray<ChatMessage>): number =>
  messages.reduce((sum, message) => sum + (message.role === "assistant" ? (message.toolCalls?.length ?? 0) : 0), 0)

/** Returns the id of a call without one: its position in the conversation, which is stable. */
export const makeToolCallId = (position: number) => `call_${position}`

/** Normalizes a JSON Schema of arguments for vendors: without `$schema`, and of type object. */
export const normalizeToolParameters = (
  parameters: Readonly<Record<string, unknown>>
): Readonly<Record<string, unknown>> => {
  const { $schema: _, ...schema } = parameters
  return schema["type"] === "object" ? schema : { ...schema, type: "object", properties: {} }
}

/** Whether a model requires its signature with tool calls: Gemini since the third generation. */
export const requiresCallSignatures = (modelId: string): boolean => /^google\/gemini-([3-9]|\d\d)/.test(modelId)

/** Google's placeholder signature for calls of another model. */
export const placeholderSignature = "skip_thought_signature_validator"

/**
 * Converts a conversation to the form that every vendor accepts: tool calls with unique ids and one result each. Other
 * results become user messages.
 */
export const toVendorConversation = (
  messages: ReadonlyArray<ChatMessage>,
  maximumIdLength = 64
): ReadonlyArray<VendorMessage> => {
  const ids = new Set<string>()
  const used = new Set<number>()
  const converted: Array<VendorMessage> = []
  let position = 0

  const idOf = (call: ToolCall): string => {
    position += 1
    let id = isId(call.id, maximumIdLength) && !ids.has(call.id) ? call.id : makeToolCallId(position)
    for (let suffix = 2; ids.has(id); suffix += 1) id = `${makeToolCallId(position)}_${suffix}`
    ids.add(id)
    return id
  }

  /** Returns the first unused result of a call before the next assistant message. */
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
        converted.push({ role: "system", text: message.content })
        break
      case "user":
        converted.push({
          role: "user",
          text: message.content,
          ...(message.parts !== undefined && hasImage(message.parts) ? { parts: message.parts } : {})
        })
        break
      case "assistant":
        converted.push({
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
        if (!used.has(index)) converted.push({ role: "user", text: `${message.toolName} gave: ${message.content}` })
    }
  })
  return converted
}
