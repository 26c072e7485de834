import { HttpApiError, type HttpServerRequest } from "@effect/platform"
import { Effect, Either, Schema } from "effect"
import type { BodyFailure } from "../http/ListenerRequest.ts"
import { parseJsonBody, readParsedBody } from "../http/RequestBody.ts"
import { type MultipartForm, isMultipartForm, readMultipartForm } from "./MultipartForm.ts"

/** Raw bytes of a body with the decoded value. */
export type CallContent =
  | { readonly _tag: "Json"; readonly bytes: Uint8Array; readonly value: unknown }
  | { readonly _tag: "Form"; readonly bytes: Uint8Array; readonly form: MultipartForm }

/**
 * Parses the bytes of a body, which are read once, so that the digest covers the same bytes. Form or JSON, by
 * `contentType`.
 */
export const parseContent = (contentType: string, bytes: Uint8Array): Effect.Effect<CallContent, BodyFailure> =>
  isMultipartForm(contentType)
    ? Effect.map(readMultipartForm(contentType, bytes), (form) => ({ _tag: "Form", bytes, form }))
    : Effect.map(parseJsonBody(bytes), (value) => ({ _tag: "Json", bytes, value }))

/** Reads the content of a request, or its rejection, which is sent after authentication. */
export const readContent = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Either.Either<CallContent, BodyFailure>> =>
  Effect.flatMap(readParsedBody(request), (body) => {
    const contentType = request.headers["content-type"] ?? ""
    return Either.isRight(body) && isMultipartForm(contentType)
      ? Effect.either(parseContent(contentType, body.right.bytes))
      : Effect.succeed(Either.map(body, (json) => ({ _tag: "Json" as const, ...json })))
  })

/** Decodes values like the contract of an endpoint. */
export const makeDecoder = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(schema)
  return (value: unknown) =>
    Effect.catchTag(decode(value), "ParseError", HttpApiError.HttpApiDecodeError.refailParseError)
}
