import type { HttpServerRequest } from "@effect/platform"
import { Effect, type Either, Option } from "effect"
import { type BodyRefusal, isBodyRefusal, parseJson } from "../http/RequestBody.ts"
import { type Form, isForm, readForm } from "./ReadForm.ts"

/** A body as it came, and as what it is. */
export type CallContent =
  | { readonly _tag: "Json"; readonly bytes: Uint8Array; readonly value: unknown }
  | { readonly _tag: "Form"; readonly bytes: Uint8Array; readonly form: Form }

/**
 * What the bytes of a body are, which are read once: what else is made of them (a digest) and this see the same. A form
 * where `contentType` says so, else JSON.
 */
export const contentOf = (contentType: string, bytes: Uint8Array): Effect.Effect<CallContent, BodyRefusal> =>
  isForm(contentType)
    ? Effect.map(readForm(contentType, bytes), (form) => ({ _tag: "Form", bytes, form }))
    : Effect.map(parseJson(bytes), (value) => ({ _tag: "Json", bytes, value }))

/** The content of a request, or why it is refused, which is told after who calls is known. */
export const readContent = (
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<Either.Either<CallContent, BodyRefusal>> =>
  Effect.gen(function* () {
    const bytes = new Uint8Array(yield* Effect.orDie(request.arrayBuffer))
    const contentType = request.headers["content-type"] ?? ""
    if (isForm(contentType)) return yield* contentOf(contentType, bytes)
    return { _tag: "Json", bytes, value: yield* Effect.orDie(request.json) } as const
  }).pipe(
    Effect.catchSomeDefect((defect) => (isBodyRefusal(defect) ? Option.some(Effect.fail(defect)) : Option.none())),
    Effect.either
  )
