import type { RuntimeModelRequest } from "@berth/api/runtime/RuntimeContract"
import { makeChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import { AgentId } from "@berth/domain/shared/AgentId"
import { type ModelAnswer, type ModelCallFailed, ModelClient } from "@berth/runtime/ai/ModelClient"
import { McpBackend } from "@berth/runtime/skills/BackendCalls"
import { Effect, Layer, type Stream } from "effect"

export const sampleAgent: RuntimeAgent = {
  id: AgentId.make("agt_1"),
  name: "Ada",
  model: "m",
  systemPrompt: null,
  temperature: null,
  maxTokens: null,
  timezone: "Europe/Paris",
  skills: [],
  contextWindow: 128_000
}

/** Models that respond to each request with a stream. */
export const fakeModels = (answer: (request: RuntimeModelRequest) => Stream.Stream<ModelAnswer, ModelCallFailed>) =>
  ModelClient.of({ answer: (request) => makeChunkSource(answer(request)) })

export const noMcpServers = Layer.succeed(McpBackend, () => Effect.dieMessage("No MCP server"))
