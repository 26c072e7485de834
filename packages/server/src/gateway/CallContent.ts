import type { HttpServerRequest } from "@effect/platform"
import { Effect, type Either, Option } from "effect"
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

/** The content of a request, or its refusal, which is sent after the caller is authenticated. */
export const readContent = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Either.Either<CallContent, BodyFailure>> =>
  Effect.gen(function* () {
    const bytes = new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
    const contentType = request.headers["content-type"] ?? ""
    if (isMultipartForm(contentType)) return yield* parseContent(contentType, bytes)
    return { _tag: "Json", bytes, value: yield* Effect.orDie(request.json) } as const
  }).pipe(
    Effect.catchSomeDefect((defect) => (isBodyFailure(defect) ? Option.some(Effect.fail(defect)) : Option.none())),
    Effect.either
  )
