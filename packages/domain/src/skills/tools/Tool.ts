import { Data, Duration, Effect, JSONSchema, ParseResult, Schema } from "effect"
import type { ToolSpec } from "../../ai/chat/ModelChat.ts"

/** A tool gave nothing; the reason is a sentence that tells the model what to do better. */
export class ToolFailed extends Data.TaggedError("ToolFailed")<{ readonly reason: string }> {}

/** Something that `Who` can do beside talking; a tool that does the same for everybody is one of `unknown`. */
export interface Tool<in Who> {
  readonly spec: ToolSpec
  readonly timeout: Duration.Duration
  /** Takes the model's JSON text of the arguments as it came. */
  readonly run: (argumentsText: string, who: Who) => Effect.Effect<string, ToolFailed>
}

export interface ToolOptions<A, I, Who> {
  /** Letters, digits and underscores, as the skills' `allowed-tools` name it. */
  readonly name: string
  readonly description: string
  /** A struct. Its JSON Schema is what the model is shown, so every field says in `description` what it is. */
  readonly parameters: Schema.Schema<A, I>
  /** How long it may take. Default: ten seconds. */
  readonly timeout?: Duration.DurationInput
  readonly run: (args: A, who: Who) => Effect.Effect<string, ToolFailed>
}

export const make = <A, I, Who = unknown>({
  description,
  name,
  parameters,
  run,
  timeout
}: ToolOptions<A, I, Who>): Tool<Who> => {
  const decode = Schema.decodeUnknown(parameters, { errors: "all" })
  return {
    spec: { name, description, parameters: jsonSchema(parameters) },
    timeout: Duration.decode(timeout ?? "10 seconds"),
    run: (argumentsText, who) =>
      parse(argumentsText).pipe(
        Effect.flatMap((args) => Effect.mapError(decode(args), badArguments)),
        Effect.flatMap((args) => run(args, who))
      )
  }
}

/** The optional argument of tools that give a long text in parts. */
export const Offset = Schema.optional(
  Schema.Number.pipe(Schema.int(), Schema.nonNegative()).annotations({
    description: "Where to go on in a long text, as the end of the part before says. Default: 0."
  })
)

/** A model that has nothing to say about a tool's arguments may leave them out. */
const parse = (text: string): Effect.Effect<unknown, ToolFailed> =>
  text.trim() === ""
    ? Effect.succeed({})
    : Effect.try({
        try: (): unknown => JSON.parse(text),
        catch: () => new ToolFailed({ reason: "The arguments are not valid JSON. Call again with a JSON object." })
      })

const badArguments = (error: ParseResult.ParseError) =>
  new ToolFailed({
    reason: `The arguments are wrong: ${ParseResult.ArrayFormatter.formatErrorSync(error)
      .slice(0, 5)
      .map(({ _tag, message, path }) => {
        const name = path.length === 0 ? "they" : path.join(".")
        return _tag === "Missing" ? `${name} is missing` : `${name}: ${message.slice(0, 200)}`
      })
      .join("; ")}.`
  })

/** Only what every provider understands: no dialect, no titles, nothing about members that are not named. */
const jsonSchema = <A, I>(parameters: Schema.Schema<A, I>): ToolSpec["parameters"] => {
  const schema = JSONSchema.make(parameters)
  if (!("properties" in schema)) throw new Error("A tool takes named arguments.")
  const properties = Object.entries(schema.properties).map(([name, { title: _, ...property }]) => [name, property])
  return { type: "object", properties: Object.fromEntries(properties), required: schema.required }
}
