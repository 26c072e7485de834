import { HttpApiSchema } from "@effect/platform"
import { Context, Schema } from "effect"

/** Fields of every error body. `error` is the code of the specification, else a short sentence; `traceId` is added on output. */
export const errorFields = <Code extends string>(code: Code) => ({
  error: Schema.String,
  message: Schema.String.annotations({ description: "What went wrong and what to do about it" }),
  code: Schema.Literal(code).annotations({ description: "Stable, for programs" }),
  traceId: Schema.optional(Schema.String)
})

/** The members that a group with a shape of its own (lifecycle) adds to every one of its error bodies. */
export const lifecycleFields = { success: Schema.Literal(false), status: Schema.Literal("error") }
export const lifecycleMembers = { success: false, status: "error" } as const

/** Annotates a group: members that every error body of its paths has, also when the error is none of the group's own. */
export class GroupErrorMembers extends Context.Reference<GroupErrorMembers>()("@berth/GroupErrorMembers", {
  defaultValue: (): Readonly<Record<string, unknown>> => ({})
}) {}

/** An error class as a schema: what it is on the typed side of its body. */
export const errorClassSchema = <E>(constructor: abstract new (...args: never) => E) =>
  Schema.declare((value: unknown): value is E => value instanceof constructor)

interface ErrorBodyOptions<E, Code extends string> {
  readonly status: number
  readonly code: Code
  /** The short sentence of the member `error`. */
  readonly error: string
  readonly message: string | ((error: E) => string)
  /** The error again, from a body's message. */
  readonly read: (message: string) => E
}

const messageOf = <E>(message: string | ((error: E) => string), error: E) =>
  typeof message === "string" ? message : message(error)

/** A domain error on the wire: one class has one body and one status per API. */
export const errorBody = <E, Code extends string>(
  constructor: abstract new (...args: never) => E,
  { code, error, message, read, status }: ErrorBodyOptions<E, Code>
) =>
  Schema.transform(
    Schema.Struct(errorFields(code)).annotations({ identifier: identifierOf(code) }),
    errorClassSchema(constructor),
    {
      strict: true,
      decode: (body) => read(body.message),
      encode: (failure) => ({ error, message: messageOf(message, failure), code })
    }
  ).annotations(HttpApiSchema.annotations({ status, description: error }))

/** The same in the lifecycle group's shape. */
export const lifecycleErrorBody = <E, Code extends string>(
  constructor: abstract new (...args: never) => E,
  { code, error, message, read, status }: ErrorBodyOptions<E, Code>
) =>
  Schema.transform(
    Schema.Struct({ ...lifecycleFields, ...errorFields(code) }).annotations({
      identifier: `Lifecycle${identifierOf(code)}`
    }),
    errorClassSchema(constructor),
    {
      strict: true,
      decode: (body) => read(body.message),
      encode: (failure) => ({ ...lifecycleMembers, error, message: messageOf(message, failure), code })
    }
  ).annotations(HttpApiSchema.annotations({ status, description: error }))

const identifierOf = (code: string) =>
  code
    .split("_")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("")
