import { Predicate } from "effect"
import type { ChatPayload } from "./AiApi.ts"
import type { OpenAiCompletionPayload } from "./OpenAiApi.ts"

/*
 * Hot path: checks common bodies of model calls without their schema, which would return them unchanged and takes 33 us
 * instead of 1 for ten messages. Other bodies are decoded by the schema.
 */

type Check = (value: unknown) => boolean

const isBetween =
  (least: number, most: number): Check =>
  (value) =>
    typeof value === "number" && value >= least && value <= most

const isPositiveInt: Check = (value) => typeof value === "number" && Number.isSafeInteger(value) && value > 0

const isModelName: Check = (value) => typeof value === "string" && value.length > 0 && value.length <= 200

const common: Readonly<Record<string, Check>> = {
  model: isModelName,
  stream: Predicate.isBoolean,
  temperature: isBetween(0, 2),
  top_p: isBetween(0, 1),
  max_tokens: isPositiveInt
}

const ofChat: Readonly<Record<string, Check>> = { ...common, taskType: Predicate.isString }

const ofCall: Readonly<Record<string, Check>> = { ...ofChat, plugin: Predicate.isString }

const ofCompletion: Readonly<Record<string, Check>> = { ...common, max_completion_tokens: isPositiveInt }

export const isPlainMessage: Check = (value) => {
  if (!Predicate.isReadonlyRecord(value)) return false
  const { content, role } = value
  return (
    (role === "user" || role === "assistant" || role === "system") &&
    typeof content === "string" &&
    Object.keys(value).length === 2
  )
}

const isUsual = (
  value: unknown,
  members: Readonly<Record<string, Check>>
): value is { readonly [key: string]: unknown } => {
  if (!Predicate.isReadonlyRecord(value)) return false
  const { messages } = value
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isPlainMessage)) return false
  for (const key of Object.keys(value)) {
    if (key === "messages") continue
    if (!Object.hasOwn(members, key) || members[key]?.(value[key]) !== true) return false
  }
  return true
}

/** A chat that may name its plugin; decoding drops the name, and it is never read. */
export const isPlainCall = (value: unknown): value is typeof ChatPayload.Type => isUsual(value, ofCall)

export const isPlainChat = (value: unknown): value is typeof ChatPayload.Type => isUsual(value, ofChat)

export const isPlainCompletion = (value: unknown): value is OpenAiCompletionPayload =>
  isUsual(value, ofCompletion) && value["model"] !== undefined
