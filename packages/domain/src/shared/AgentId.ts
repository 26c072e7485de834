import { idSchema } from "../ids/IdGenerator.ts"

export const AgentId = idSchema("AgentId", "An agent's id, agt_…")
export type AgentId = typeof AgentId.Type
