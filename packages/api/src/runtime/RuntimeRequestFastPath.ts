import { toolNamePattern } from "@berth/domain/ai/chat/ModelChat"
import { Predicate } from "effect"
import { isPlainMessage } from "../ai/PayloadFastPath.ts"
import type { RuntimeModelRequest } from "./RuntimeContract.ts"

const members: ReadonlySet<string> = new Set([
  "agentId",
  "messageId",
  "model",
  "messages",
  "tools",
  "temperature",
  "maxTokens",
  "conversation"
])

const isShort = (value: unknown, most: number) => typeof value === "string" && value.length <= most

const isConversation = (value: unknown) =>
  Predicate.isReadonlyRecord(value) &&
  Object.keys(value).length === 2 &&
  isShort(value["id"], 100) &&
  isShort(value["agentName"], 1000)

const isPlainTool = (value: unknown) => {
  if (!Predicate.isReadonlyRecord(value)) return false
  const { description, name, parameters } = value
  return (
    typeof name === "string" &&
    toolNamePattern.test(name) &&
    typeof description === "string" &&
    Predicate.isReadonlyRecord(parameters) &&
    Object.keys(value).length === 3
  )
}

/**
 * Hot path: checks a model call before the first tool call of its turn without its schema, which would return it
 * unchanged; other bodies are decoded by the schema.
 */
export const isPlainRuntimeRequest = (value: unknown): value is RuntimeModelRequest => {
  if (!Predicate.isReadonlyRecord(value)) return false
  const { agentId, conversation, maxTokens, messageId, messages, model, temperature, tools } = value
  return (
    typeof agentId === "string" &&
    typeof messageId === "string" &&
    typeof model === "string" &&
    (temperature === null || typeof temperature === "number") &&
    (maxTokens === null || Number.isSafeInteger(maxTokens)) &&
    Array.isArray(tools) &&
    tools.every(isPlainTool) &&
    Array.isArray(messages) &&
    messages.every(isPlainMessage) &&
    (!("conversation" in value) || isConversation(conversation)) &&
    Object.keys(value).every((name) => members.has(name))
  )
}
