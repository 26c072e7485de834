import type { RuntimeAgent } from "@berth/domain/instances/AgentRuntime"
import { AgentId } from "@berth/domain/shared/AgentId"

/** An agent of these tests. */
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
