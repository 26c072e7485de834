import type { AgentItemJson } from "../wire.ts"

/** A tab of the page of an agent. */
export interface AgentTab {
  readonly agent: AgentItemJson
}
