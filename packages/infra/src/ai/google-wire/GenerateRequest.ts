import type { ChatMessage, ChatOptions } from "@berth/domain/ai/ModelChat"
import { readTurns } from "../wire/Turns.ts"
import type { GenerateBody } from "./WireBodies.ts"

const contentOf = (text: string) => ({ parts: [{ text }] as const })

const configOf = ({ maxTokens, temperature, topP }: ChatOptions) => ({
  ...(temperature === undefined ? {} : { temperature }),
  ...(topP === undefined ? {} : { topP }),
  ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens })
})

/** The body of a call. */
export const generateRequest = (messages: ReadonlyArray<ChatMessage>, options: ChatOptions): GenerateBody => {
  const { system, turns } = readTurns(messages)
  return {
    ...(system === null ? {} : { systemInstruction: contentOf(system) }),
    contents: turns.map(({ role, text }) => ({ role: role === "user" ? role : "model", ...contentOf(text) })),
    generationConfig: configOf(options)
  }
}
