import { Context, type DateTime, type Effect } from "effect"
import type { ProviderName } from "../models/Model.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

export interface ModelCallRecord {
  /** Null for anonymous calls. */
  readonly userId: UserId | null
  readonly agentId: AgentId | null
  readonly provider: ProviderName
  readonly model: string
  readonly promptTokens: number
  readonly completionTokens: number
  /** Whether the user's own key was used. */
  readonly ownKey: boolean
  /** By catalog prices. */
  readonly costUsd: number
}

/** Records of model calls, for statistics and audits; billing does not read them. */
export class ModelUsage extends Context.Tag("@berth/ModelUsage")<
  ModelUsage,
  {
    readonly record: (call: ModelCallRecord) => Effect.Effect<void>
    /** Deletes records older than `before`. Returns the number of deleted records. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
