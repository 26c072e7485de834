import { HttpApiError, HttpApiSchema, HttpServerError } from "@effect/platform"
import { ParseResult, Schema } from "effect"
import { errorClassSchema, errorFields, exampleTraceId } from "./ErrorBody.ts"
import { summarizeIssues, toRequestIssue } from "./RequestIssues.ts"

export const Issue = Schema.Struct({ path: Schema.String, message: Schema.String }).annotations({ identifier: "Issue" })

/** A request that does not match the contract: 400, naming each field. */
export const InvalidRequestBody = Schema.transform(
  Schema.Struct({ ...errorFields("invalid_request"), issues: Schema.Array(Issue) }).annotations({
    identifier: "InvalidRequest",
    examples: [
      {
        error: "Invalid request",
        message: "name: is missing",
        code: "invalid_request",
        issues: [{ path: "name", message: "is missing" }],
        traceId: exampleTraceId
      }
    ]
  }),
  Schema.typeSchema(HttpApiError.HttpApiDecodeError),
  {
    strict: true,
    encode: ({ issues }) => {
      const named = namedIssues(issues)
      return {
        error: "Invalid request",
        message: named.map(({ message, path }) => (path === "" ? message : `${path}: ${message}`)).join("; "),
        code: "invalid_request" as const,
        issues: named
      }
    },
    decode: ({ issues, message }) =>
      new HttpApiError.HttpApiDecodeError({
        message,
        issues: issues.map((issue) => ({ _tag: "Type" as const, path: issue.path.split("."), message: issue.message }))
      })
  }
).annotations(HttpApiSchema.annotations({ status: 400, description: "The request does not match the contract" }))

/** Reports absent fields of an action like other mismatches with the contract. */
export const makeMissingFieldsError = (fields: ReadonlyArray<string>) =>
  new HttpApiError.HttpApiDecodeError({
    message: "fields are missing",
    issues: fields.map((field) => ({ _tag: "Missing" as const, path: [field], message: "is missing" }))
  })

// Limits of an error body.
const maximumIssues = 20
const maximumQuote = 200

const cut = (text: string) => (text.length > maximumQuote ? `${text.slice(0, maximumQuote).toWellFormed()}…` : text)

const namedIssues = (issues: HttpApiError.HttpApiDecodeError["issues"]) =>
  summarizeIssues(issues.map(toRequestIssue))
    .slice(0, maximumIssues)
    .map(({ message, path }) => ({ path: cut(path), message: cut(message) }))

const malformedBody = {
  error: "Malformed body",
  message: "The request body could not be read as JSON.",
  code: "body_malformed"
} as const

/** A body that cannot be parsed: 400. Encode-only. */
const MalformedBodyBody = Schema.transformOrFail(
  Schema.Struct(errorFields("body_malformed")).annotations({
    identifier: "MalformedBody",
    examples: [{ ...malformedBody, traceId: exampleTraceId }]
  }),
  errorClassSchema(HttpServerError.RequestError),
  {
    strict: true,
    encode: () => ParseResult.succeed(malformedBody),
    decode: (body, _options, ast) => ParseResult.fail(new ParseResult.Forbidden(ast, body, "This body is encoded only"))
  }
).annotations(HttpApiSchema.annotations({ status: 400, description: "The body could not be read" }))

/** Errors of any endpoint before its handler, for the static `errorSchema` of an API. */
export const requestErrors = Schema.make<HttpApiError.HttpApiDecodeError, unknown, never>(
  HttpApiSchema.UnionUnify(InvalidRequestBody, MalformedBodyBody).ast
)
