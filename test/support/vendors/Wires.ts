import type { ChatChunk, ChatMessage, ModelProvider } from "@berth/domain/ai/ModelChat"
import { type Keyed, makeProvider } from "@berth/infra/ai/ModelProvidersLive"
import { FetchHttpClient } from "@effect/platform"
import { Chunk, Effect, Redacted, Schedule, type Scope, Stream } from "effect"
import { anthropicStandIn } from "./AnthropicStandIn.ts"
import { googleStandIn } from "./GoogleStandIn.ts"
import { openAiStandIn } from "./OpenAiStandIn.ts"
import type { VendorStandIn } from "./VendorStandIn.ts"

/** A provider over its real wire, and a stand-in for its vendor. */
export interface Wire {
  readonly name: Keyed
  /** One that the stand-in has. */
  readonly model: string
  readonly standIn: Effect.Effect<VendorStandIn, never, Scope.Scope>
}

const groqModels = [
  { id: "llama-3.3-70b-versatile" },
  { id: "whisper-large-v3" },
  { id: "qwen/qwen3-32b", active: false }
]

const openRouterModels = [{ id: "anthropic/claude-opus-4.6" }]

export const openRouterWire: Wire = {
  name: "openrouter",
  model: "anthropic/claude-opus-4-6",
  standIn: openAiStandIn({ models: openRouterModels, modelsArePublic: true, hasKeyPath: true })
}
export const anthropicWire: Wire = {
  name: "anthropic",
  model: "anthropic/claude-opus-4-6",
  standIn: anthropicStandIn
}
export const openAiWire: Wire = { name: "openai", model: "openai/gpt-4o", standIn: openAiStandIn() }
export const googleWire: Wire = { name: "google", model: "google/gemini-2.5-flash", standIn: googleStandIn }
export const groqWire: Wire = {
  name: "groq",
  model: "groq/llama-3.3-70b-versatile",
  standIn: openAiStandIn({ models: groqModels })
}

/** Every provider that needs a key. */
export const wires: ReadonlyArray<Wire> = [openRouterWire, anthropicWire, openAiWire, googleWire, groqWire]

/** One for each protocol. */
export const protocols: ReadonlyArray<Wire> = [openAiWire, anthropicWire, googleWire]

/** The provider of that name at an address, with any key unless one is given. */
export const connect = (name: Keyed, access: { readonly baseUrl: string; readonly apiKey?: string }) =>
  makeProvider(name, { baseUrl: access.baseUrl, apiKey: Redacted.make(access.apiKey ?? "any") }).pipe(
    Effect.provide(FetchHttpClient.layer)
  )

export const hello: ReadonlyArray<ChatMessage> = [{ role: "user", content: "Hello" }]

/** The whole of an answer. */
export const chat = (provider: ModelProvider, model: string, messages = hello) =>
  Effect.map(Stream.runCollect(provider.chat(model, messages, {})), Chunk.toReadonlyArray)

export const textOf = (chunks: ReadonlyArray<ChatChunk>) =>
  chunks.map((chunk) => (chunk.type === "text" ? chunk.text : "")).join("")

/** Waits for a condition on the other side of a connection. */
export const eventually = (isSo: () => boolean) =>
  Effect.sync(isSo).pipe(
    Effect.repeat({ until: (so) => so, schedule: Schedule.spaced("10 millis") }),
    Effect.timeoutFail({ duration: "30 seconds", onTimeout: () => new Error("it never came to that") })
  )
