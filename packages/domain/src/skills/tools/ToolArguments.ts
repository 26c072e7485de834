import { Schema } from "effect"

/** The subset of JSON Schema for arguments of uploaded tools. */
type ArgumentSchema =
  | {
      readonly type: "string"
      readonly description?: string
      readonly enum?: ReadonlyArray<string>
      readonly maxLength?: number
    }
  | {
      readonly type: "number" | "integer"
      readonly description?: string
      readonly minimum?: number
      readonly maximum?: number
    }
  | { readonly type: "boolean"; readonly description?: string }
  | { readonly type: "array"; readonly description?: string; readonly items: ArgumentSchema }
  | ObjectArgumentSchema

export interface ObjectArgumentSchema {
  readonly type: "object"
  readonly description?: string
  readonly properties: Readonly<Record<string, ArgumentSchema>>
  readonly required?: ReadonlyArray<string>
  readonly additionalProperties?: false
}

const optional = { exact: true } as const
const description = Schema.optionalWith(Schema.String.pipe(Schema.maxLength(1024)), optional)
const identifier = "ToolArgument"
const suspended = Schema.suspend((): Schema.Schema<ArgumentSchema> => ArgumentSchema).annotations({ identifier })

export const ObjectArgumentSchema: Schema.Schema<ObjectArgumentSchema> = Schema.Struct({
  type: Schema.Literal("object"),
  description,
  properties: Schema.Record({ key: Schema.String.pipe(Schema.pattern(/^[A-Za-z0-9_-]{1,64}$/)), value: suspended }),
  required: Schema.optionalWith(Schema.Array(Schema.String), optional),
  additionalProperties: Schema.optionalWith(Schema.Literal(false), optional)
}).annotations({
  identifier: "ToolArguments",
  // Generated values of a recursive schema grow without bound.
  arbitrary: () => (fc) => fc.constant({ type: "object", properties: {} })
})

const ArgumentSchema: Schema.Schema<ArgumentSchema> = Schema.Union(
  Schema.Struct({
    type: Schema.Literal("string"),
    description,
    enum: Schema.optionalWith(Schema.Array(Schema.String).pipe(Schema.minItems(1)), optional),
    maxLength: Schema.optionalWith(Schema.NonNegativeInt, optional)
  }),
  Schema.Struct({
    type: Schema.Literal("number", "integer"),
    description,
    minimum: Schema.optionalWith(Schema.JsonNumber, optional),
    maximum: Schema.optionalWith(Schema.JsonNumber, optional)
  }),
  Schema.Struct({ type: Schema.Literal("boolean"), description }),
  Schema.Struct({ type: Schema.Literal("array"), description, items: suspended }),
  ObjectArgumentSchema
).annotations({ identifier })

const widen = ({ ast }: Schema.Schema.AnyNoContext) => Schema.make<unknown>(ast)

const toPlainSchema = (schema: ArgumentSchema): Schema.Schema<unknown> => {
  switch (schema.type) {
    case "string":
      return widen(
        schema.enum === undefined
          ? Schema.String.pipe(Schema.maxLength(schema.maxLength ?? 100_000))
          : Schema.Literal(...schema.enum)
      )
    case "number":
    case "integer": {
      const number = Schema.Number.pipe(
        Schema.between(schema.minimum ?? -Number.MAX_VALUE, schema.maximum ?? Number.MAX_VALUE)
      )
      return widen(schema.type === "integer" ? number.pipe(Schema.int()) : number)
    }
    case "boolean":
      return widen(Schema.Boolean)
    case "array":
      return widen(Schema.Array(toPlainSchema(schema.items)))
    case "object":
      return widen(toArgumentsSchema(schema))
  }
}

/** Converts a JSON Schema of arguments. Undeclared members are rejected. */
export const toArgumentsSchema = ({ properties, required = [] }: ObjectArgumentSchema) => {
  const members = Object.entries(properties).map(([name, property]) => {
    const { description: text } = property
    const plain = toPlainSchema(property)
    const member = text === undefined ? plain : plain.annotations({ description: text })
    return [name, required.includes(name) ? member : Schema.optionalWith(member, optional)] as const
  })
  return Schema.Struct(Object.fromEntries(members)).annotations({ parseOptions: { onExcessProperty: "error" } })
}
