import { Schema } from "effect"
import { ObjectArgumentSchema } from "./tools/ToolArguments.ts"

/** A tool of an uploaded skill: a script whose default export takes the arguments and returns the result. */
export const SkillTool = Schema.Struct({
  name: Schema.String.pipe(
    Schema.pattern(/^[A-Za-z0-9_]{1,64}$/, { message: () => "must have 1 to 64 letters, digits and underscores" })
  ),
  description: Schema.Trim.pipe(Schema.minLength(1), Schema.maxLength(1024)),
  parameters: ObjectArgumentSchema,
  /** Path of a module in the skill's folder. */
  script: Schema.String.pipe(Schema.pattern(/\.m?js$/, { message: () => "must be a path of an .mjs or .js file" }))
}).annotations({ identifier: "SkillTool" })
export type SkillTool = typeof SkillTool.Type

/** Tools and files of an uploaded skill, for its instance. */
export const SkillCode = Schema.Struct({
  tools: Schema.Array(SkillTool),
  /** Base64 by path. */
  files: Schema.Record({ key: Schema.String, value: Schema.String })
}).annotations({ identifier: "SkillCode" })
export type SkillCode = typeof SkillCode.Type
