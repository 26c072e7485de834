import { Data, Schema } from "effect"
import { plainErrorBody } from "../http/ErrorBody.ts"

/** The key was used on this route with another body. */
export class IdempotencyKeyReused extends Data.TaggedError("IdempotencyKeyReused")<object> {}
export class IdempotencyKeyInvalid extends Data.TaggedError("IdempotencyKeyInvalid")<object> {}
/** The first request with this key was not answered within the maximum wait of a repetition. */
export class FirstRequestUnanswered extends Data.TaggedError("FirstRequestUnanswered")<object> {}

/**
 * The first request with this key succeeded, but its response was not stored: it was too large, or the owner's stored
 * responses are.
 */
export class ResponseNotKept extends Data.TaggedError("ResponseNotKept")<object> {}

export const maximumIdempotencyKeyLength = 255

export const IdempotencyKeyReusedBody = plainErrorBody(IdempotencyKeyReused, {
  status: 422,
  error: "Idempotency key reused",
  message: "This Idempotency-Key was used before with another body. Use a new key for a new request."
})
export const IdempotencyKeyInvalidBody = plainErrorBody(IdempotencyKeyInvalid, {
  status: 400,
  error: "Invalid idempotency key",
  message: `Idempotency-Key: must have 1 to ${maximumIdempotencyKeyLength} characters and no control characters.`
})
export const FirstRequestUnansweredBody = plainErrorBody(FirstRequestUnanswered, {
  status: 409,
  error: "First request unanswered",
  message: "The first request with this Idempotency-Key is still in progress. Try again in a moment."
})

export const ResponseNotKeptBody = plainErrorBody(ResponseNotKept, {
  status: 409,
  error: "Response not kept",
  message:
    "The first request with this Idempotency-Key succeeded, but its response was too large to keep, alone or with your others. Use a new key to run it again."
})

/** Errors of routes that accept `Idempotency-Key`. */
export const IdempotencyErrors = Schema.Union(
  IdempotencyKeyReusedBody,
  IdempotencyKeyInvalidBody,
  FirstRequestUnansweredBody,
  ResponseNotKeptBody
)
