import { Schema } from "effect"

/** A tool call of an answer, for its readers. */
export const ToolActivity = Schema.Struct({
  /** Unique in the answer. */
  id: Schema.String,
  name: Schema.String,
  /** JSON text of the model. */
  arguments: Schema.String,
  status: Schema.Literal("running", "succeeded", "failed"),
  /** Null while the tool runs. */
  result: Schema.NullOr(Schema.String)
}).annotations({ identifier: "ToolActivity", description: "A tool call of an answer. Long texts are cut off." })
export type ToolActivity = typeof ToolActivity.Type

const maximumText = 4_000

const shorten = (text: string): string => (text.length > maximumText ? `${text.slice(0, maximumText)}…` : text)

export const shortenToolActivity = (activity: ToolActivity): ToolActivity => ({
  ...activity,
  name: activity.name.slice(0, 200),
  arguments: shorten(activity.arguments),
  result: activity.result === null ? null : shorten(activity.result)
})
