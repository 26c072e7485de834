import type { PlanFeatures } from "../billing/subscriptions/PlanFeatures.ts"
import type { Skill } from "./Skill.ts"

/** Whether a plan with these features has the skill. */
export const hasSkill = (features: PlanFeatures, skill: Pick<Skill, "basic">): boolean =>
  features.skills === "all" || skill.basic

/** The skills that an agent works with: chosen by its owner, known here, and part of his plan now. In the catalogue's order. */
export const selectUsableSkills = (
  catalogue: ReadonlyArray<Skill>,
  features: PlanFeatures,
  chosen: ReadonlyArray<string>
): ReadonlyArray<Skill> => catalogue.filter((skill) => chosen.includes(skill.id) && hasSkill(features, skill))

/** What a new agent begins with. */
export const listBasicSkillIds = (catalogue: ReadonlyArray<Skill>): ReadonlyArray<string> =>
  catalogue.filter(({ basic }) => basic).map(({ id }) => id)
