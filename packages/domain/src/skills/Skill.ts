import { Context, Schema } from "effect"

export const SkillId = Schema.String.pipe(Schema.pattern(/^[a-z0-9]+(-[a-z0-9]+)*$/), Schema.maxLength(64)).annotations(
  {
    identifier: "SkillId",
    description: "A skill's name as its SKILL.md gives it, which is its folder's name too"
  }
)

/** A skill as its SKILL.md describes it (AgentSkills format). */
export interface Skill {
  /** `name` of the front matter: lower case, hyphens. */
  readonly id: string
  /** What a person reads: the first heading of the body. */
  readonly name: string
  readonly description: string
  /** The body after the front matter. */
  readonly instructions: string
  /** `allowed-tools`: names of the runtime's tools that the skill uses. */
  readonly tools: ReadonlyArray<string>
  /** Whether plans with basic skills have it too. */
  readonly basic: boolean
}

/** The shipped skills in display order; ids are unique. */
export class SkillCatalog extends Context.Tag("@berth/SkillCatalog")<SkillCatalog, ReadonlyArray<Skill>>() {}
