import type { AgentItemJson } from "../wire.ts"

export interface AgentTab {
  readonly agent: AgentItemJson
}
