import type { PlanFeatures } from "../billing/subscriptions/PlanFeatures.ts"
import type { Skill } from "./Skill.ts"

export const hasSkill = (features: PlanFeatures, skill: Pick<Skill, "basic">): boolean =>
  features.skills === "all" || skill.basic

/** Returns the selected skills that the plan includes, in catalog order. */
export const selectUsableSkills = (
  catalog: ReadonlyArray<Skill>,
  features: PlanFeatures,
  chosen: ReadonlyArray<string>
): ReadonlyArray<Skill> => catalog.filter((skill) => chosen.includes(skill.id) && hasSkill(features, skill))

/** Skills of a new agent. */
export const listBasicSkillIds = (catalog: ReadonlyArray<Skill>): ReadonlyArray<string> =>
  catalog.filter(({ basic }) => basic).map(({ id }) => id)
