import { Schema } from "effect"

/** A JSON body: unknown members are ignored, and a mismatch names every field at once. */
export const payload = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).annotations({ parseOptions: { errors: "all" } })

/** Annotations of a body, or a part of one, in which unknown members are refused. */
export const refusesUnknownMembers = {
  parseOptions: { onExcessProperty: "error", errors: "all" },
  // In the description; request bodies without it are open.
  jsonSchema: { unevaluatedProperties: false }
} as const

/** Text whose value must not come back in an error message. */
export const SecretText = Schema.Redacted(Schema.String.annotations({ message: () => "must be a string" }))

/** A member that may be absent or null; both mean not given. */
export const optionalText = Schema.optionalWith(Schema.String, { nullable: true })

/** A model id. Errors quote it, so its length is bounded. */
export const ModelName = Schema.String.pipe(
  Schema.filter((text) => text.length > 0 && text.length <= 200, { message: () => "must have 1 to 200 characters" })
).annotations({ jsonSchema: { minLength: 1, maxLength: 200 } })
