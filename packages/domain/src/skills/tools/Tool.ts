import { Data, Duration, Effect, JSONSchema, ParseResult, Schema, SchemaAST } from "effect"
import type { ToolSpec } from "../../ai/chat/ModelChat.ts"

/** The reason is a sentence that explains the correct call to the model. */
export class ToolFailed extends Data.TaggedError("ToolFailed")<{ readonly reason: string }> {}

/** A tool of an agent; `Caller` is the agent that calls it. */
export interface Tool<in Caller> {
  readonly spec: ToolSpec
  readonly timeout: Duration.Duration
  /** `argumentsText` is the model's JSON. */
  readonly run: (argumentsText: string, caller: Caller) => Effect.Effect<string, ToolFailed>
}

interface ToolOptions<A, I, Caller> {
  /** Letters, digits and underscores, as named by `allowed-tools`. */
  readonly name: string
  readonly description: string
  /** A struct. Its JSON Schema is sent to the model, so every field requires a `description`. */
  readonly parameters: Schema.Schema<A, I>
  /** Default: ten seconds. */
  readonly timeout?: Duration.DurationInput
  readonly run: (args: A, caller: Caller) => Effect.Effect<string, ToolFailed>
}

export const make = <A, I, Caller = unknown>({
  description,
  name,
  parameters,
  run,
  timeout
}: ToolOptions<A, I, Caller>): Tool<Caller> => {
  const decode = decodeArguments(parameters)
  return {
    spec: { name, description, parameters: makeParametersSchema(parameters) },
    timeout: Duration.decode(timeout ?? "10 seconds"),
    run: (argumentsText, caller) =>
      parseArguments(argumentsText).pipe(
        Effect.flatMap(decode),
        Effect.flatMap((args) => run(args, caller))
      )
  }
}

export const decodeArguments = <A, I>(parameters: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(parameters, { errors: "all" })
  return (args: unknown): Effect.Effect<A, ToolFailed> => Effect.mapError(decode(args), badArguments)
}

/** Optional argument of tools that return long texts in parts. */
export const Offset = Schema.optional(
  Schema.Number.pipe(Schema.int(), Schema.nonNegative()).annotations({
    description: "Where to continue in a long text, as given at the end of the previous part. Default: 0."
  })
)

/** Models may omit empty arguments. */
export const parseArguments = (text: string): Effect.Effect<unknown, ToolFailed> =>
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

/** The subset of JSON Schema that every provider accepts. */
export const makeParametersSchema = <A, I>(parameters: Schema.Schema<A, I>): ToolSpec["parameters"] => {
  // For a struct without members, JSONSchema does not produce an object.
  if (SchemaAST.isTypeLiteral(parameters.ast) && parameters.ast.propertySignatures.length === 0)
    return { type: "object", properties: {}, required: [] }
  const schema = JSONSchema.make(parameters)
  if (!("properties" in schema)) throw new Error("A tool takes named arguments.")
  const properties = Object.entries(schema.properties).map(([name, { title: _, ...property }]) => [name, property])
  return { type: "object", properties: Object.fromEntries(properties), required: schema.required }
}
