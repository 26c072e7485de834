import { RuntimeErrorBody } from "@berth/api/runtime/RuntimeContract"
import { makeInvalidRequest, RuntimeErrors, type RuntimeRejection } from "@berth/api/runtime/RuntimeErrors"
import type { RequestError } from "@effect/platform/HttpServerError"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { Effect, ParseResult } from "effect"

const encode = HttpServerResponse.schemaJson(RuntimeErrorBody)

export const respondError = ({ error, message, status }: RuntimeRejection) =>
  Effect.orDie(encode({ error, message }, { status }))

/** Names the invalid fields without their values, which may be part of a conversation. */
export const respondInvalidFields = (error: ParseResult.ParseError) =>
  respondError(
    makeInvalidRequest(
      ParseResult.ArrayFormatter.formatErrorSync(error)
        .slice(0, 10)
        .map(
          ({ _tag, path }) =>
            `${path.length === 0 ? "The body" : path.join(".")} is ${_tag === "Missing" ? "missing" : "not valid"}.`
        )
        .join(" ")
    )
  )

export const respondUnreadableBody = (error: RequestError) =>
  respondError(error.cause instanceof SyntaxError ? RuntimeErrors.malformedBody : RuntimeErrors.bodyTooLarge)
