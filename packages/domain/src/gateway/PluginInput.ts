import type { ChatRequest } from "../ai/calls/ChatRequest.ts"
import type { ChatMessage } from "../ai/chat/ModelChat.ts"
import type { Recording, SpeechInput } from "./speech/Speech.ts"
import type { AgentId } from "../shared/AgentId.ts"

/** The request of generate-text, without its caller. */
export type TextRequest = Pick<ChatRequest, "messages" | "model" | "taskType" | "options">

export type PluginInput =
  | { readonly plugin: "generate-text"; readonly request: TextRequest }
  | {
      readonly plugin: "agent"
      readonly messages: ReadonlyArray<ChatMessage>
      readonly agentId: AgentId | undefined
    }
  | { readonly plugin: "tts"; readonly spoken: Omit<SpeechInput, "userId" | "ownKeysOnly"> }
  | { readonly plugin: "stt"; readonly recording: Omit<Recording, "userId" | "ownKeysOnly"> }
