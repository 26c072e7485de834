import type { HttpServerRequest } from "@effect/platform"
import type { RequestError } from "@effect/platform/HttpServerError"
import { Cause, Effect, Either } from "effect"
import { type BodyFailure, isBodyFailure, parseJsonBody } from "../http/RequestBody.ts"
import { type MultipartForm, isMultipartForm, readMultipartForm } from "./MultipartForm.ts"

/** The raw bytes of a body with its decoded value. */
export type CallContent =
  | { readonly _tag: "Json"; readonly bytes: Uint8Array; readonly value: unknown }
  | { readonly _tag: "Form"; readonly bytes: Uint8Array; readonly form: MultipartForm }

/**
 * Parses the bytes of a body, which are read once, so that the digest covers the same bytes. A form by `contentType`, else
 * JSON.
 */
export const parseContent = (contentType: string, bytes: Uint8Array): Effect.Effect<CallContent, BodyFailure> =>
  isMultipartForm(contentType)
    ? Effect.map(readMultipartForm(contentType, bytes), (form) => ({ _tag: "Form", bytes, form }))
    : Effect.map(parseJsonBody(bytes), (value) => ({ _tag: "Json", bytes, value }))

const readUnchecked = (request: HttpServerRequest.HttpServerRequest) =>
  Effect.flatMap(request.arrayBuffer, (read): Effect.Effect<CallContent, BodyFailure | RequestError> => {
    const bytes = new Uint8Array(read)
    const contentType = request.headers["content-type"] ?? ""
    return isMultipartForm(contentType)
      ? parseContent(contentType, bytes)
      : Effect.map(request.json, (value) => ({ _tag: "Json", bytes, value }))
  })

/** The content of a request, or its refusal, which is sent after the caller is authenticated. */
export const readContent = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Either.Either<CallContent, BodyFailure>> =>
  Effect.matchCauseEffect(readUnchecked(request), {
    onFailure: (cause) => {
      const failure = Cause.squash(cause)
      return isBodyFailure(failure) ? Effect.succeed(Either.left(failure)) : Effect.orDie(Effect.failCause(cause))
    },
    onSuccess: (content) => Effect.succeed(Either.right(content))
  })
