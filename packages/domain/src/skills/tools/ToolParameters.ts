import { Effect, Schema } from "effect"
import { decodeArguments, makeParametersSchema, Offset, ToolFailed } from "./Tool.ts"

/** Maximum characters of a note and of a query. */
export const maximumMemoryText = 2_000

const path = Schema.String.annotations({ description: "Relative path, for example notes/shopping.md" })

/** Arguments of the tools by name. Every field requires a description for the model. */
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

const parametersByName: Readonly<Record<string, Schema.Schema.AnyNoContext>> = toolParameters

export const validateToolArguments = (tool: string, args: unknown): Effect.Effect<void, ToolFailed> => {
  const parameters = parametersByName[tool]
  return parameters === undefined
    ? new ToolFailed({ reason: `There is no tool ${tool}.` })
    : Effect.asVoid(decodeArguments(parameters)(args))
}

/** The JSON Schema of the tool's arguments; none for tools of other skills. */
export const describeToolParameters = (tool: string): object | undefined => {
  const parameters = parametersByName[tool]
  return parameters === undefined ? undefined : makeParametersSchema(parameters)
}
