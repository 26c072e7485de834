import { Context, type DateTime, type Effect } from "effect"
import type { ProviderName } from "../models/Model.ts"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"

/** One answered model call. */
export interface ModelCallRecord {
  /** On whose behalf; null for the platform's own calls. */
  readonly userId: UserId | null
  readonly agentId: AgentId | null
  readonly provider: ProviderName
  readonly model: string
  readonly promptTokens: number
  readonly completionTokens: number
  /** Whether it went by the user's own key, so that its cost is his already. */
  readonly ownKey: boolean
  /** By the catalogue's prices. */
  readonly costUsd: number
}

/** The record of model calls, for figures and audits; charging does not read it. */
export class ModelUsage extends Context.Tag("@berth/ModelUsage")<
  ModelUsage,
  {
    readonly record: (call: ModelCallRecord) => Effect.Effect<void>
    /** Deletes records of before `before`. Returns the number deleted. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
