import { OpenApi } from "@effect/platform"
import { Data, JSONSchema, Option, Predicate, Schema } from "effect"
import { errorBody } from "../http/ErrorBody.ts"
import { errorShape, isErrorStatus } from "../http/OpenApiErrorShape.ts"

/** A parameter of OpenAI's protocol that this service does not support. */
export class ParameterUnsupported extends Data.TaggedError("ParameterUnsupported")<{
  readonly parameter: string
  readonly reason: string
}> {
  override readonly message = `${this.parameter}: ${this.reason}`
}

const namedIn = /^([^:]*): (.*)$/s

export const ParameterUnsupportedBody = errorBody(ParameterUnsupported, {
  status: 400,
  error: "Unsupported parameter",
  message: (failure) => failure.message,
  example: new ParameterUnsupported({ parameter: "n", reason: "only 1 is supported" }),
  read: (message) => {
    const [, parameter = "", reason = message] = namedIn.exec(message) ?? []
    return new ParameterUnsupported({ parameter, reason })
  }
})

const OpenAiError = Schema.Struct({
  error: Schema.Struct({
    message: Schema.String,
    type: Schema.Literal("invalid_request_error", "rate_limit_error", "server_error"),
    param: Schema.NullOr(Schema.String),
    code: Schema.NullOr(Schema.String)
  }),
  traceId: Schema.optional(Schema.String)
})
type OpenAiError = typeof OpenAiError.Type

interface OpenAiFailure {
  readonly status: number
  readonly body: OpenAiError
}

const ErrorMembers = Schema.Struct({
  error: Schema.optional(Schema.Unknown),
  message: Schema.optional(Schema.String),
  code: Schema.optional(Schema.String),
  kind: Schema.optional(Schema.String),
  issues: Schema.optional(Schema.Array(Schema.Struct({ path: Schema.String }))),
  traceId: Schema.optional(Schema.String)
})
const readErrorMembers = Schema.decodeUnknownOption(ErrorMembers)

/** OpenAI's status and code for each kind of provider failure. */
const failureOfProvider: Readonly<Record<string, readonly [status: number, code: string]>> = {
  refused: [400, "provider_refused"],
  "rate-limited": [429, "rate_limit_exceeded"],
  timeout: [504, "provider_timeout"],
  overloaded: [503, "provider_overloaded"],
  // Failure of the platform's key, although the caller's is valid.
  unauthorized: [502, "provider_unauthorized"],
  unreachable: [502, "provider_unreachable"],
  nonsense: [502, "provider_unintelligible"]
}

const isOfProvider = (code: unknown): boolean => code === "provider_failed" || code === "plugin_failed"

const typeOf = (status: number): OpenAiError["error"]["type"] => {
  if (status === 429) return "rate_limit_error"
  return status >= 500 ? "server_error" : "invalid_request_error"
}

/** OpenAI's codes for equivalent errors. */
const openAiCodes: Readonly<Record<string, string>> = {
  internal_key_required: "invalid_api_key",
  unauthorized: "invalid_api_key",
  parameter_unsupported: "unsupported_parameter"
}

const parameterOf = (code: string | undefined, message: string, issue: string | undefined): string | null => {
  if (code === "model_not_found") return "model"
  if (code === "parameter_unsupported") return namedIn.exec(message)?.[1] ?? null
  return issue === undefined || issue === "" ? null : issue
}

export const makeOpenAiFailure = (status: number, body: unknown): OpenAiFailure => {
  const error = Option.getOrElse(readErrorMembers(body), (): typeof ErrorMembers.Type => ({}))
  const message = error.message ?? (Predicate.isString(error.error) ? error.error : "The request failed.")
  const [ownStatus, ownCode] =
    (isOfProvider(error.code) ? failureOfProvider[error.kind ?? ""] : undefined) ??
    ([status, openAiCodes[error.code ?? ""] ?? error.code ?? null] as const)
  return {
    status: ownStatus,
    body: {
      error: {
        message,
        type: typeOf(ownStatus),
        param: parameterOf(error.code, message, error.issues?.[0]?.path),
        code: ownCode
      },
      ...(error.traceId === undefined ? {} : { traceId: error.traceId })
    }
  }
}

/** Member with the original error schemas until `addOpenAiExamples`. */
const alternatives = "x-alternatives"

const errorContent = { "application/json": { schema: JSONSchema.make(OpenAiError) } }

const failuresOfProviders = Object.entries({
  "400": "The model provider rejects the request",
  "429": "The model provider's rate limit is reached",
  "502": "The model provider cannot be reached or understood",
  "503": "The model provider is overloaded",
  "504": "The model provider takes too long"
})

/** Converts the errors of an OpenAPI operation to OpenAI's format. A provider's failure has one status per kind. */
export const withOpenAiErrors = (operation: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const declared = operation["responses"]
  const responses = Predicate.isRecord(declared) ? declared : {}
  const callsProvider = /schemas\/(?:Provider|Plugin)Failed"/.test(JSON.stringify(responses))
  return {
    ...operation,
    [errorShape]: errorContent,
    responses: {
      ...Object.fromEntries(
        (callsProvider ? failuresOfProviders : []).map(([status, description]) => [
          status,
          { description, content: errorContent }
        ])
      ),
      ...Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [
          status,
          isErrorStatus(status) && Predicate.isRecord(response)
            ? { ...response, content: errorContent, [alternatives]: response["content"] }
            : response
        ])
      )
    }
  }
}

/** Returns OpenAI's bodies for an error body: one per kind of a provider's failure, and a plugin's. */
const makeOpenAiFailures = (status: number, body: Readonly<Record<string, unknown>>): ReadonlyArray<OpenAiFailure> => [
  ...(body["code"] === "provider_failed" ? [] : [makeOpenAiFailure(status, { ...body, kind: undefined })]),
  ...(isOfProvider(body["code"]) ? Object.keys(failureOfProvider) : []).map((kind) =>
    makeOpenAiFailure(status, { ...body, kind })
  )
]

/**
 * Adds examples of errors in OpenAI's format to an operation. `bodiesOf` returns the bodies of a response's content.
 */
export const addOpenAiExamples = (
  operation: Readonly<Record<string, unknown>>,
  bodiesOf: (content: unknown) => ReadonlyArray<Readonly<Record<string, unknown>>>
): Readonly<Record<string, unknown>> => {
  const declared = Predicate.isRecord(operation["responses"]) ? operation["responses"] : {}
  const failures = Object.entries(declared).flatMap(([status, response]) =>
    Predicate.isRecord(response)
      ? bodiesOf(response[alternatives]).flatMap((body) => makeOpenAiFailures(Number(status), body))
      : []
  )
  const describe = (status: string, response: unknown) => {
    if (!Predicate.isRecord(response)) return response
    const { [alternatives]: _, content, ...rest } = response
    const json = Predicate.isRecord(content) ? content["application/json"] : undefined
    const own = failures.filter((failure) => String(failure.status) === status)
    return own.length === 0 || !Predicate.isRecord(json)
      ? { ...rest, ...(content !== undefined && { content }) }
      : {
          ...rest,
          content: {
            ...(Predicate.isRecord(content) && content),
            "application/json": {
              ...json,
              examples: Object.fromEntries(own.map(({ body }) => [body.error.code ?? "error", { value: body }]))
            }
          }
        }
  }
  const responses = Object.fromEntries(
    Object.entries(declared).map(([status, response]) => [status, describe(status, response)])
  )
  return { ...operation, responses }
}

export const documentErrors = OpenApi.annotations({ transform: withOpenAiErrors })
