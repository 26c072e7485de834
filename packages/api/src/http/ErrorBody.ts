import { HttpApiSchema } from "@effect/platform"
import { Context, Option, Predicate, Schema, SchemaAST } from "effect"

const Message = Schema.String.annotations({ description: "The problem, and how to solve it" })
const TraceId = Schema.optional(Schema.String)

/**
 * Fields of every error body. `error` is the code of the specification, else a short sentence; `traceId` is added on
 * output.
 */
export const errorFields = <Code extends string>(code: Code) => ({
  error: Schema.String,
  message: Message,
  code: Schema.Literal(code).annotations({ description: "Stable code for programs" }),
  traceId: TraceId
})

/** Members that a group with a separate error format (lifecycle) adds to all of its error bodies. */
const LifecycleFields = Schema.Struct({ success: Schema.Literal(false), status: Schema.Literal("error") })
export const lifecycleMembers = { success: false, status: "error" } as const

/** Annotates a group with members of every error body at its paths, including errors of other groups. */
export class GroupErrorMembers extends Context.Reference<GroupErrorMembers>()("@berth/GroupErrorMembers", {
  defaultValue: (): Readonly<Record<string, unknown>> => ({})
}) {}

type ErrorConstructor<E> = abstract new (...args: never) => E

/** Returns the tag of an error class. Bundling renames classes but not tags. */
const tagOf = <E>({ prototype }: ErrorConstructor<E>): Option.Option<string> =>
  Predicate.hasProperty(prototype, "name") && Predicate.isString(prototype.name)
    ? Option.some(prototype.name)
    : Option.none()

/** The type of `Schema.Struct({ _tag: Schema.Literal(tag) })`, without the classes of these schemas. */
const taggedType = (tag: string) =>
  new SchemaAST.TypeLiteral([new SchemaAST.PropertySignature("_tag", new SchemaAST.Literal(tag), false, true)], [])

/**
 * Schema of an error class: the decoded side of its body. By the literal tag, a union of all errors finds its member
 * directly; otherwise an encoded error would be compared with each class before its own.
 */
export const errorClassSchema = <E>(constructor: ErrorConstructor<E>) =>
  Schema.declare(
    (value: unknown): value is E => value instanceof constructor,
    Option.match(tagOf(constructor), {
      onNone: () => ({}),
      onSome: (tag) => ({ [SchemaAST.SurrogateAnnotationId]: taggedType(tag) })
    })
  )

interface ErrorBodyOptions<E, M = unknown> {
  readonly status: number
  /** Short sentence in the member `error`. */
  readonly error: string
  readonly message: string | ((error: E) => string)
  /** Makes the error from a body. */
  readonly read: (message: string, members: M) => E
  /** Error of the documented example, if the message depends on the error. */
  readonly example?: E
}

interface ExtendedErrorBodyOptions<E, M> extends ErrorBodyOptions<E, M> {
  readonly members: (error: E) => M
}

/** Codes defined by the specification or the decisions; all others are the error class in snake_case. */
const pinnedCodes: Readonly<Record<string, string>> = {
  AuthenticationRequired: "unauthorized",
  LifecycleAuthenticationRequired: "unauthorized",
  InternalFailure: "internal",
  LifecycleFailed: "internal",
  PluginNotFound: "no_plugin"
}

const codeOf = <E>(constructor: ErrorConstructor<E>): string => {
  const tag = Option.getOrElse(tagOf(constructor), () => constructor.name)
  return pinnedCodes[tag] ?? tag.replace(/(?!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase()
}

const messageOf = <E>(message: string | ((error: E) => string), error: E) =>
  typeof message === "string" ? message : message(error)

export const exampleTraceId = "4bf92f3577b34da6a3ce929d0e0e4736"

/** Body of a domain error with additional fields. */
export const extendedErrorBody = <E, M extends object, I extends object>(
  constructor: ErrorConstructor<E>,
  fields: Schema.Schema<M, I>,
  { error, example, members, message, read, status }: ExtendedErrorBodyOptions<E, M>,
  identifierPrefix = ""
) => {
  const code = codeOf(constructor)
  const encode = (failure: E) => ({ error, message: messageOf(message, failure), code, ...members(failure) })
  return Schema.transform(
    Schema.extend(Schema.Struct(errorFields(code)), fields).annotations({
      identifier: `${identifierPrefix}${identifierOf(code)}`,
      ...(typeof message === "string" && { description: message }),
      ...(example !== undefined && { examples: [{ ...encode(example), traceId: exampleTraceId }] })
    }),
    errorClassSchema(constructor),
    {
      strict: true,
      decode: (body) => read(body.message, body),
      encode
    }
  ).annotations(HttpApiSchema.annotations({ status, description: error }))
}

/** With a constant message and no members, the error itself is the example. */
const withExample = <E>(options: ErrorBodyOptions<E>): ErrorBodyOptions<E> =>
  typeof options.message === "string" ? { ...options, example: options.read(options.message, {}) } : options

const noFields = Schema.Struct({})
const noMembers = () => ({})

/** Body of a domain error: one class has one body and one status per API. */
export const errorBody = <E>(constructor: ErrorConstructor<E>, options: ErrorBodyOptions<E>) =>
  extendedErrorBody(constructor, noFields, { ...withExample(options), members: noMembers })

/** As `errorBody`, for an error without members. */
export const plainErrorBody = <E>(constructor: new () => E, options: Omit<ErrorBodyOptions<E>, "read">) =>
  errorBody(constructor, { ...options, read: () => new constructor() })

/** As `errorBody`, for an error whose message is its reason after a constant prefix. `example` is a reason. */
export const reasonErrorBody = <E extends { readonly reason: string }>(
  constructor: new (fields: { readonly reason: string }) => E,
  {
    example,
    prefix = "",
    ...options
  }: Pick<ErrorBodyOptions<E>, "status" | "error"> & { readonly example: string; readonly prefix?: string }
) =>
  errorBody(constructor, {
    ...options,
    message: ({ reason }) => `${prefix}${reason}`,
    example: new constructor({ reason: example }),
    read: (message) => new constructor({ reason: message.slice(prefix.length) })
  })

/** As `errorBody`, for an error whose fields are members of its body. `example` contains their values. */
export const fieldsErrorBody = <M extends object, I extends object, E extends M>(
  constructor: new (fields: M) => E,
  {
    example,
    members,
    ...options
  }: Omit<ErrorBodyOptions<E>, "read" | "example"> & { readonly members: Schema.Schema<M, I>; readonly example: M }
) => {
  const pickMembers = Schema.validateSync(members)
  return extendedErrorBody(constructor, members, {
    ...options,
    members: pickMembers,
    example: new constructor(example),
    read: (_, body) => new constructor(pickMembers(body))
  })
}

/** A domain error in the lifecycle group's format. */
export const lifecycleErrorBody = <E>(constructor: ErrorConstructor<E>, options: ErrorBodyOptions<E>) =>
  extendedErrorBody(
    constructor,
    LifecycleFields,
    { ...withExample(options), members: () => lifecycleMembers },
    "Lifecycle"
  )

const identifierOf = (code: string) =>
  code
    .split("_")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("")
