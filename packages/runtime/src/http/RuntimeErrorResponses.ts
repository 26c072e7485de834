import { RuntimeErrorBody } from "@berth/api/runtime/RuntimeContract"
import type { RequestError } from "@effect/platform/HttpServerError"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Effect, ParseResult } from "effect"

const encode = HttpServerResponse.schemaJson(RuntimeErrorBody)

export const respondError = (status: number, error: string, message: string) =>
  Effect.orDie(encode({ error, message }, { status }))

/** Says which fields are wrong and how, but never repeats what was in them: it may be part of a conversation. */
export const respondInvalidFields = (error: ParseResult.ParseError) =>
  respondError(
    400,
    "invalid_request",
    ParseResult.ArrayFormatter.formatErrorSync(error)
      .slice(0, 10)
      .map(
        ({ _tag, path }) =>
          `${path.length === 0 ? "The body" : path.join(".")} is ${_tag === "Missing" ? "missing" : "not valid"}.`
      )
      .join(" ")
  )

/** A body that could not be read: too long, or no JSON. */
export const respondUnreadableBody = (error: RequestError) =>
  error.cause instanceof SyntaxError
    ? respondError(400, "malformed_body", "The body is not JSON.")
    : respondError(413, "body_too_large", "The body is too large or was not sent completely.")
