import { Schema } from "effect"

/** A JSON body: unknown members are ignored, and decode errors name all invalid fields at once. */
export const payload = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Struct(fields).annotations({ parseOptions: { errors: "all" } })

/** Annotation of arrays: decode errors name only the first invalid item, since describing 5,000 takes 300 ms. */
export const namesFirstItem = { parseOptions: { errors: "first" } } as const

/** Annotations of a body, or a part of one, that rejects unknown members. */
export const refusesUnknownMembers = {
  parseOptions: { onExcessProperty: "error", errors: "all" },
  // Documentation; request bodies without it are open.
  jsonSchema: { unevaluatedProperties: false }
} as const

/** Text whose value must not occur in error messages. */
export const SecretText = Schema.Redacted(Schema.String.annotations({ message: () => "must be a string" }))

/** Text that fails like an absent member if it is empty. */
export const RequiredText = Schema.String.annotations({ message: () => "must be a string" }).pipe(
  Schema.nonEmptyString({ message: () => "is missing" })
)
export const RequiredSecretText = Schema.Redacted(RequiredText)

/** An optional member; null equals absent. */
export const optionalText = Schema.optionalWith(Schema.String, { nullable: true })

/** A model id, with bounded length, since errors quote it. */
export const ModelName = Schema.String.pipe(
  Schema.filter((text) => text.length > 0 && text.length <= 200, { message: () => "must have 1 to 200 characters" })
).annotations({ jsonSchema: { minLength: 1, maxLength: 200 } })
