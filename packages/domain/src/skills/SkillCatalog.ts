import { Context } from "effect"
import type { Skill } from "./Skill.ts"

/** The skills that this service ships, in the order in which they are shown. No two have the same id. */
export class SkillCatalog extends Context.Tag("@berth/SkillCatalog")<SkillCatalog, ReadonlyArray<Skill>>() {}
