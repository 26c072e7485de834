import type { Turn } from "@berth/domain/instances/AgentRuntime"
import { AgentId } from "@berth/domain/shared/AgentId"

/** The first message of a conversation. */
export const sampleTurn: Turn = {
  agentId: AgentId.make("agt_1"),
  sessionId: "chs_1",
  messageId: "msg_1",
  summary: null,
  fromOwner: true,
  memories: [],
  history: [],
  message: "hello"
}
