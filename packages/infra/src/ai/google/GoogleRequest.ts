import type { ContentPart } from "@berth/domain/ai/chat/ContentPart"
import type { ChatMessage, ChatOptions, ToolSpec } from "@berth/domain/ai/chat/ModelChat"
import { isBlankText, toAlternatingTurns, type AlternatingTurn } from "../vendor/AlternatingTurns.ts"
import {
  type CompletedToolCall,
  normalizeToolParameters,
  placeholderSignature,
  requiresCallSignatures
} from "../vendor/VendorConversation.ts"
import type { GoogleBody, GooglePart } from "./GoogleBodies.ts"

const textIn = (text: string): ReadonlyArray<GooglePart> => (isBlankText(text) ? [] : [{ text }])

/** Gemini signs the first call of a turn. */
const signatureOf = (modelId: string, { signature }: CompletedToolCall, index: number): string | null => {
  if (signature?.provider === "google" && signature.model === modelId) return signature.data
  return index === 0 && requiresCallSignatures(modelId) ? placeholderSignature : null
}

const callPart =
  (modelId: string) =>
  (call: CompletedToolCall, index: number): GooglePart => {
    const signature = signatureOf(modelId, call, index)
    return {
      functionCall: { id: call.id, name: call.name, args: call.input },
      ...(signature === null ? {} : { thoughtSignature: signature })
    }
  }

const resultPart = ({ id, name, result }: CompletedToolCall): GooglePart => ({
  functionResponse: { id, name, response: { result } }
})

const mediaTypes: Readonly<Record<string, string>> = {
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  webp: "image/webp",
  gif: "image/gif",
  heic: "image/heic",
  heif: "image/heif"
}

/** Returns the media type of an image by the extension of its URL; null for an unknown one. */
export const guessMediaType = (url: string): string | null =>
  mediaTypes[/\.([a-z]+)(?:[?#]|$)/i.exec(url)?.[1]?.toLowerCase() ?? ""] ?? null

const partOf = (part: ContentPart): GooglePart => {
  if (part.type === "text") return { text: part.text }
  const { source } = part
  if (source.type === "data") return { inlineData: { mimeType: source.mediaType, data: source.data } }
  const mimeType = guessMediaType(source.url)
  return { fileData: { fileUri: source.url, ...(mimeType === null ? {} : { mimeType }) } }
}

const contentOf =
  (modelId: string) =>
  (turn: AlternatingTurn): GoogleBody["contents"][number] =>
    turn.role === "user"
      ? {
          role: "user",
          parts: [...(turn.results ?? []).map(resultPart), ...(turn.parts?.map(partOf) ?? textIn(turn.text))]
        }
      : { role: "model", parts: [...textIn(turn.text), ...(turn.calls ?? []).map(callPart(modelId))] }

const declarationOf = ({ description, name, parameters }: ToolSpec) => ({
  name,
  description,
  parametersJsonSchema: normalizeToolParameters(parameters)
})

const formatOf = (format: ChatOptions["responseFormat"]): GoogleBody["generationConfig"] => {
  if (format === undefined) return {}
  return format.type === "json-object"
    ? { responseMimeType: "application/json" }
    : { responseMimeType: "application/json", responseJsonSchema: format.schema }
}

const choiceOf = (choice: NonNullable<ChatOptions["toolChoice"]>): GoogleBody["toolConfig"] & object => {
  if (typeof choice === "object") {
    return { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [choice.name] } }
  }
  const modes = { auto: "AUTO", none: "NONE", required: "ANY" } as const
  return { functionCallingConfig: { mode: modes[choice] } }
}

const configOf = ({
  frequencyPenalty,
  maxTokens,
  presencePenalty,
  responseFormat,
  seed,
  stop = [],
  temperature,
  topP
}: ChatOptions): GoogleBody["generationConfig"] => ({
  ...(temperature === undefined ? {} : { temperature }),
  ...(topP === undefined ? {} : { topP }),
  ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }),
  ...(stop.length === 0 ? {} : { stopSequences: stop }),
  ...(seed === undefined ? {} : { seed }),
  ...(frequencyPenalty === undefined ? {} : { frequencyPenalty }),
  ...(presencePenalty === undefined ? {} : { presencePenalty }),
  ...formatOf(responseFormat)
})

export const makeGoogleRequest = (
  modelId: string,
  messages: ReadonlyArray<ChatMessage>,
  options: ChatOptions
): GoogleBody => {
  const { system, turns } = toAlternatingTurns(messages)
  const { toolChoice, tools = [] } = options
  return {
    ...(system === null ? {} : { systemInstruction: { parts: [{ text: system }] } }),
    contents: turns.map(contentOf(modelId)),
    ...(tools.length === 0 ? {} : { tools: [{ functionDeclarations: tools.map(declarationOf) }] as const }),
    ...(tools.length === 0 || toolChoice === undefined ? {} : { toolConfig: choiceOf(toolChoice) }),
    generationConfig: configOf(options)
  }
}
