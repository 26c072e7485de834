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

/** Tool calls of one answer: all that the rounds of a turn can have. */
export const maximumToolActivities = 256

const maximumName = 200
const maximumText = 4_000

const shorten = (text: string): string => (text.length > maximumText ? `${text.slice(0, maximumText)}…` : text)

export const shortenToolActivity = (activity: ToolActivity): ToolActivity => ({
  ...activity,
  id: activity.id.slice(0, maximumName),
  name: activity.name.slice(0, maximumName),
  arguments: shorten(activity.arguments),
  result: activity.result === null ? null : shorten(activity.result)
})

/** Characters of arguments and results that a reply keeps: lists of messages have them whole. */
const maximumStoredText = 65_536

/** The shortened tool calls of a reply as they are stored. Texts beyond the limit are left out. */
export const limitStoredActivities = (calls: ReadonlyArray<ToolActivity>): ReadonlyArray<ToolActivity> => {
  let left = maximumStoredText
  return calls.map((call) => {
    left -= call.arguments.length + (call.result?.length ?? 0)
    return left >= 0 ? call : { ...call, arguments: "…", result: call.result === null ? null : "…" }
  })
}
