import type { ModelEvent, ProviderEnding } from "@berth/domain/ai/streams/ModelEvent"
import type { ModelProvider } from "@berth/domain/ai/models/ModelProviders"
import type { AiLayer } from "@berth/domain/ai/AiLayer"
import type { ChatRequest } from "@berth/domain/ai/calls/ChatRequest"
import { streamFromReader } from "@berth/domain/ai/streams/ChunkReader"
import { streamFromOpened } from "@berth/domain/ai/streams/ChunkSource"
import type { ChatMessage, ChatOptions } from "@berth/domain/ai/chat/ModelChat"
import { makeModelProvider } from "@berth/infra/ai/ConfiguredModelProviders"
import type { KeyedProviderName } from "@berth/infra/ai/ProviderUrls"
import { Chunk, Effect, Redacted, Schedule, type Scope, Stream } from "effect"
import { makeFakeAnthropic } from "./FakeAnthropic.ts"
import { makeFakeGoogle } from "./FakeGoogle.ts"
import { makeFakeOpenAi } from "./FakeOpenAi.ts"
import type { FakeModelVendor } from "./FakeModelVendor.ts"
import { anthropicShape, googleShape, openAiShape, type VendorShape } from "./VendorShapes.ts"

/** A provider and a fake of its vendor. */
export interface ModelWire {
  readonly name: KeyedProviderName
  readonly model: string
  readonly makeFake: Effect.Effect<FakeModelVendor, never, Scope.Scope>
  readonly shape: VendorShape
}

const groqModels = [
  { id: "llama-3.3-70b-versatile" },
  { id: "whisper-large-v3" },
  { id: "qwen/qwen3-32b", active: false }
]

const openRouterModels = [{ id: "anthropic/claude-opus-4.6" }]

export const openRouterWire: ModelWire = {
  name: "openrouter",
  model: "anthropic/claude-opus-4-6",
  makeFake: makeFakeOpenAi({ models: openRouterModels, modelsArePublic: true, hasKeyPath: true }),
  shape: openAiShape
}
export const anthropicWire: ModelWire = {
  name: "anthropic",
  model: "anthropic/claude-opus-4-6",
  makeFake: makeFakeAnthropic,
  shape: anthropicShape
}
export const openAiWire: ModelWire = {
  name: "openai",
  model: "openai/gpt-4o",
  makeFake: makeFakeOpenAi(),
  shape: openAiShape
}
export const googleWire: ModelWire = {
  name: "google",
  model: "google/gemini-2.5-flash",
  makeFake: makeFakeGoogle,
  shape: googleShape
}
export const groqWire: ModelWire = {
  name: "groq",
  model: "groq/llama-3.3-70b-versatile",
  makeFake: makeFakeOpenAi({ models: groqModels }),
  shape: openAiShape
}

/** Every provider that requires a key. */
export const modelWires: ReadonlyArray<ModelWire> = [openRouterWire, anthropicWire, openAiWire, googleWire, groqWire]

/** One provider per protocol. */
export const modelProtocols: ReadonlyArray<ModelWire> = [openAiWire, anthropicWire, googleWire]

/** The named provider at an address; default: any key. */
export const connectProvider = (
  name: KeyedProviderName,
  access: { readonly baseUrl: string; readonly apiKey?: string }
) => makeModelProvider(name, { baseUrl: access.baseUrl, apiKey: Redacted.make(access.apiKey ?? "any") })

export const helloMessages: ReadonlyArray<ChatMessage> = [{ role: "user", content: "Hello" }]

/** A chat of a provider as a stream. */
export const streamChat = (provider: ModelProvider, ...requested: Parameters<ModelProvider["chat"]>) =>
  streamFromOpened(Effect.acquireRelease(provider.chat(...requested), ({ close }) => close))

export const streamAnswer = (ai: AiLayer, request: ChatRequest) =>
  Stream.unwrapScoped(Effect.map(ai.open(request), ({ read }) => streamFromReader(read)))

/** All events of a chat. */
export const runChat = (provider: ModelProvider, model: string, messages = helloMessages, options: ChatOptions = {}) =>
  Effect.map(Stream.runCollect(streamChat(provider, model, messages, options)), Chunk.toReadonlyArray)

export const joinText = (chunks: ReadonlyArray<ModelEvent<ProviderEnding>>) =>
  chunks.map((chunk) => (chunk.type === "delta" ? chunk.text : "")).join("")

export const waitForCondition = (predicate: () => boolean) =>
  Effect.sync(predicate).pipe(
    Effect.repeat({ until: (current) => current, schedule: Schedule.spaced("10 millis") }),
    Effect.timeoutFail({ duration: "30 seconds", onTimeout: () => new Error("condition not met within 30 s") })
  )
