import { Schema } from "effect"

export const PluginId = Schema.Literal("agent", "generate-text", "tts", "stt").annotations({
  identifier: "PluginId",
  description: "agent (multi-step tasks), generate-text, tts (text to speech) or stt (speech to text)"
})
export type PluginId = typeof PluginId.Type

interface Plugin {
  readonly name: string
  /** Whether the plugin can stream its answer. */
  readonly streams: boolean
}

export const plugins: Readonly<Record<PluginId, Plugin>> = {
  agent: { name: "agent orchestrator for multi-step tasks", streams: true },
  "generate-text": { name: "LLM text generation", streams: true },
  tts: { name: "text-to-speech", streams: false },
  stt: { name: "speech-to-text", streams: false }
}

export const isPluginId = (name: string): name is PluginId => Object.hasOwn(plugins, name)
