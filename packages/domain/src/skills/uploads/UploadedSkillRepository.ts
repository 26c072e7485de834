import { Context, type DateTime, type Effect } from "effect"
import type { AgentId } from "../../shared/AgentId.ts"
import type { UserId } from "../../shared/UserId.ts"
import type { UploadedSkill } from "./SkillPackage.ts"

export interface StoredSkill extends UploadedSkill {
  readonly createdAt: DateTime.Utc
  readonly updatedAt: DateTime.Utc
}

export class UploadedSkillRepository extends Context.Tag("@berth/UploadedSkillRepository")<
  UploadedSkillRepository,
  {
    /** By id, without the contents of files. */
    readonly list: (agentId: AgentId) => Effect.Effect<ReadonlyArray<StoredSkill>>
    /** By id, with the contents of files. */
    readonly read: (agentId: AgentId) => Effect.Effect<ReadonlyArray<StoredSkill>>
    /** Bytes of the owner's other skills. Joins the running transaction and keeps the number exact until its end. */
    readonly sumOthers: (ownerId: UserId, agentId: AgentId, id: string) => Effect.Effect<number>
    /** Replaces a skill with the same id. */
    readonly save: (agentId: AgentId, skill: UploadedSkill) => Effect.Effect<StoredSkill>
    readonly remove: (agentId: AgentId, id: string) => Effect.Effect<boolean>
    /** Removes the owner's skills uploaded at `since` or later; returns their number. */
    readonly removeSince: (ownerId: UserId, since: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
