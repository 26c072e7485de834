import type { ChatMessage, ChatOptions, ToolSpec } from "@berth/domain/ai/ModelChat"
import type { AnsweredCall } from "../wire/Conversation.ts"
import { foreignSignature, wantsSignatures } from "../wire/GeminiSignatures.ts"
import { parametersOf } from "../wire/ToolParameters.ts"
import { isBlank, readTurns, type Turn } from "../wire/Turns.ts"
import type { GenerateBody, WirePart } from "./WireBodies.ts"

const textIn = (text: string): ReadonlyArray<WirePart> => (isBlank(text) ? [] : [{ text }])

/** What the model signed a call with; of the calls of one turn it signs the first. */
const signatureOf = (modelId: string, { signature }: AnsweredCall, index: number): string | null => {
  if (signature?.provider === "google" && signature.model === modelId) return signature.data
  return index === 0 && wantsSignatures(modelId) ? foreignSignature : null
}

const callPart =
  (modelId: string) =>
  (call: AnsweredCall, index: number): WirePart => {
    const signature = signatureOf(modelId, call, index)
    return {
      functionCall: { id: call.id, name: call.name, args: call.input },
      ...(signature === null ? {} : { thoughtSignature: signature })
    }
  }

const resultPart = ({ id, name, result }: AnsweredCall): WirePart => ({
  functionResponse: { id, name, response: { result } }
})

const contentOf =
  (modelId: string) =>
  (turn: Turn): GenerateBody["contents"][number] =>
    turn.role === "user"
      ? { role: "user", parts: [...(turn.results ?? []).map(resultPart), ...textIn(turn.text)] }
      : { role: "model", parts: [...textIn(turn.text), ...(turn.calls ?? []).map(callPart(modelId))] }

const declarationOf = ({ description, name, parameters }: ToolSpec) => ({
  name,
  description,
  parametersJsonSchema: parametersOf(parameters)
})

const configOf = ({ maxTokens, temperature, topP }: ChatOptions) => ({
  ...(temperature === undefined ? {} : { temperature }),
  ...(topP === undefined ? {} : { topP }),
  ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens })
})

/** The body of a call. */
export const generateRequest = (
  modelId: string,
  messages: ReadonlyArray<ChatMessage>,
  options: ChatOptions
): GenerateBody => {
  const { system, turns } = readTurns(messages)
  const { tools = [] } = options
  return {
    ...(system === null ? {} : { systemInstruction: { parts: [{ text: system }] } }),
    contents: turns.map(contentOf(modelId)),
    ...(tools.length === 0 ? {} : { tools: [{ functionDeclarations: tools.map(declarationOf) }] as const }),
    generationConfig: configOf(options)
  }
}
