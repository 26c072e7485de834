import { Context } from "effect"
import type { Skill } from "./Skill.ts"

/** The skills that this service ships, in the order in which they are shown. No two have the same id. */
export class SkillCatalogue extends Context.Tag("@berth/SkillCatalogue")<SkillCatalogue, ReadonlyArray<Skill>>() {}
