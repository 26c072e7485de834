import { Effect, Schema } from "effect"
import { decodeArguments, makeParametersSchema, Offset, ToolFailed } from "./Tool.ts"

/** Characters of a note and of a query, at most. */
export const maximumMemoryText = 2_000

const path = Schema.String.annotations({ description: "Relative path, for example notes/shopping.md" })

/** Arguments of the tools by name. Every field needs a description, which the model reads. */
export const toolParameters = {
  calculate: Schema.Struct({
    expression: Schema.String.annotations({
      description:
        "For example (19.99 * 3) * 1.2, or round(sqrt(2), 4). Operators + - * / % ^, where % is the remainder."
    })
  }),
  current_time: Schema.Struct({
    timezone: Schema.optional(
      Schema.String.annotations({ description: "IANA time zone, for example Asia/Tokyo. Default: your own." })
    )
  }),
  remember: Schema.Struct({
    text: Schema.String.annotations({
      description: `One fact in a sentence that is understood by itself, ${maximumMemoryText} characters at most.`
    })
  }),
  recall: Schema.Struct({
    query: Schema.String.annotations({ description: "A few distinctive words." })
  }),
  list_files: Schema.Struct({
    folder: Schema.optional(
      Schema.String.annotations({
        description: "Only files below this folder, for example notes. Default: all files."
      })
    )
  }),
  read_file: Schema.Struct({ path, offset: Offset }),
  write_file: Schema.Struct({
    path,
    content: Schema.String.annotations({ description: "The whole text of the file." })
  }),
  delete_file: Schema.Struct({ path }),
  fetch_web_page: Schema.Struct({
    url: Schema.String.annotations({ description: "The full address, for example https://example.com/page" }),
    offset: Offset
  })
}

const decoders: Readonly<Record<string, (args: unknown) => Effect.Effect<unknown, ToolFailed>>> = {
  calculate: decodeArguments(toolParameters.calculate),
  current_time: decodeArguments(toolParameters.current_time),
  remember: decodeArguments(toolParameters.remember),
  recall: decodeArguments(toolParameters.recall),
  list_files: decodeArguments(toolParameters.list_files),
  read_file: decodeArguments(toolParameters.read_file),
  write_file: decodeArguments(toolParameters.write_file),
  delete_file: decodeArguments(toolParameters.delete_file),
  fetch_web_page: decodeArguments(toolParameters.fetch_web_page)
}

/** Fails with the reason when the arguments do not fit the tool. */
export const validateToolArguments = (tool: string, args: unknown): Effect.Effect<void, ToolFailed> =>
  Effect.asVoid(decoders[tool]?.(args) ?? new ToolFailed({ reason: `There is no tool ${tool}.` }))

/** The JSON Schema of the tool's arguments; none for tools of other skills. */
export const describeToolParameters = (tool: string) => {
  const found = Object.entries(toolParameters).find(([name]) => name === tool)
  return found === undefined ? undefined : makeParametersSchema(found[1])
}
