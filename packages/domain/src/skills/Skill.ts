import { Context, Schema } from "effect"
import type { SkillCode } from "./SkillCode.ts"

export const SkillId = Schema.String.pipe(Schema.pattern(/^[a-z0-9]+(-[a-z0-9]+)*$/), Schema.maxLength(64)).annotations(
  {
    identifier: "SkillId",
    description: "Name of a skill in its SKILL.md, equal to its folder's name"
  }
)

/** A skill as described by its SKILL.md (AgentSkills format). */
export interface Skill {
  /** `name` of the front matter. */
  readonly id: string
  /** Display name: the first heading of the body. */
  readonly name: string
  readonly description: string
  readonly instructions: string
  /** `allowed-tools`: names of the runtime's tools. */
  readonly tools: ReadonlyArray<string>
  /** Whether plans with basic skills include it. */
  readonly basic: boolean
  /** Uploaded skills only. */
  readonly code?: SkillCode
}

/** Shipped skills in display order; ids are unique. */
export class SkillCatalog extends Context.Tag("@berth/SkillCatalog")<SkillCatalog, ReadonlyArray<Skill>>() {}
