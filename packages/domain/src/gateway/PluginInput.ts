import type { ChatRequest } from "../ai/calls/ChatRequest.ts"
import type { ChatMessage } from "../ai/chat/ModelChat.ts"
import type { Recording, SpeechInput } from "./speech/Speech.ts"
import type { AgentId } from "../shared/AgentId.ts"

/** What a text is generated from; whose keys are used is told beside it. */
export type TextRequest = Pick<ChatRequest, "messages" | "model" | "taskType" | "options">

/** What a plugin is asked to do, in words of the domain. */
export type PluginInput =
  | { readonly plugin: "generate-text"; readonly request: TextRequest }
  | {
      readonly plugin: "agent"
      readonly messages: ReadonlyArray<ChatMessage>
      readonly agentId: AgentId | undefined
    }
  | { readonly plugin: "tts"; readonly spoken: Omit<SpeechInput, "userId"> }
  | { readonly plugin: "stt"; readonly recording: Omit<Recording, "userId"> }
