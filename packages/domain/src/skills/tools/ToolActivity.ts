import { Schema } from "effect"

/** A tool call in an answer, for its readers. */
export const ToolActivity = Schema.Struct({
  /** Unique in the answer. */
  id: Schema.String,
  name: Schema.String,
  /** JSON text of the model. */
  arguments: Schema.String,
  status: Schema.Literal("running", "succeeded", "failed"),
  /** Null while the tool is running. */
  result: Schema.NullOr(Schema.String)
}).annotations({ identifier: "ToolActivity", description: "A tool call of an answer. Long texts are cut off." })
export type ToolActivity = typeof ToolActivity.Type

/** Maximum tool calls of an answer, which covers all rounds of a turn. */
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

/** Maximum characters of arguments and results stored with a reply, since lists of messages include them. */
const maximumStoredText = 65_536

/** Limits the stored tool calls of a reply. Texts beyond the limit are dropped. */
export const limitStoredActivities = (calls: ReadonlyArray<ToolActivity>): ReadonlyArray<ToolActivity> => {
  let left = maximumStoredText
  return calls.map((call) => {
    left -= call.arguments.length + (call.result?.length ?? 0)
    return left >= 0 ? call : { ...call, arguments: "…", result: call.result === null ? null : "…" }
  })
}
