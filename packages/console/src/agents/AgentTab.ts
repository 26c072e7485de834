import type { AgentItemJson } from "../wire.ts"

/** A tab of an agent's page. */
export interface AgentTab {
  readonly agent: AgentItemJson
}
