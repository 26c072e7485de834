import { Context } from "effect"
import type { Skill } from "./Skill.ts"

/** The skills that this service ships, in the order in which they are shown. */
export class SkillCatalogue extends Context.Reference<SkillCatalogue>()("@berth/SkillCatalogue", {
  defaultValue: (): ReadonlyArray<Skill> => []
}) {}
