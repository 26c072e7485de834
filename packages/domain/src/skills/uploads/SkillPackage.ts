import { Context, Data, type Effect } from "effect"
import type { Skill } from "../Skill.ts"
import type { SkillCode } from "../SkillCode.ts"

export interface UploadedSkill extends Skill {
  readonly code: SkillCode
  readonly size: number
}

export const skillLimits = {
  files: 64,
  /** Maximum bytes of an uploaded folder, and of all uploaded folders of an owner. */
  bytes: 512 * 1024,
  ownerBytes: 2 * 1024 * 1024,
  pathLength: 200,
  skillsPerAgent: 20,
  tools: 16,
  /** Maximum characters of the front matter in SKILL.md. */
  frontMatter: 8192,
  /** Maximum nesting depth of `tools.json`. */
  toolDepth: 24
} as const

/** The reason names the invalid file or member. */
export class SkillInvalid extends Data.TaggedError("SkillInvalid")<{ readonly reason: string }> {}

/** The owner has the maximum of uploaded skills. The reason names the limit. */
export class UploadedSkillLimitReached extends Data.TaggedError("UploadedSkillLimitReached")<{
  readonly reason: string
}> {}

export interface SkillFile {
  readonly path: string
  readonly content: Uint8Array
}

export type SkillSource = { readonly zip: Uint8Array } | { readonly files: ReadonlyArray<SkillFile> }

/** Reads uploaded skill folders in the AgentSkills format. */
export class SkillPackages extends Context.Tag("@berth/SkillPackages")<
  SkillPackages,
  { readonly read: (source: SkillSource) => Effect.Effect<UploadedSkill, SkillInvalid> }
>() {}
