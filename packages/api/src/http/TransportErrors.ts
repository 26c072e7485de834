import { Data, Schema } from "effect"
import { errorBody, plainErrorBody, fieldsErrorBody } from "./ErrorBody.ts"

/* Errors before the endpoint is known or the body is read; possible at every path. */

export class RouteNotFound extends Data.TaggedError("RouteNotFound")<object> {}
export class MethodNotAllowed extends Data.TaggedError("MethodNotAllowed")<{
  readonly allowed: ReadonlyArray<string>
}> {}
export class BodyTooLarge extends Data.TaggedError("BodyTooLarge")<{ readonly limit: number }> {}
export class MediaTypeUnsupported extends Data.TaggedError("MediaTypeUnsupported")<{
  readonly supported: ReadonlyArray<string>
}> {}
export class BodyMalformed extends Data.TaggedError("BodyMalformed")<{ readonly reason: string }> {}
export class OriginNotAllowed extends Data.TaggedError("OriginNotAllowed")<object> {}
export class InternalFailure extends Data.TaggedError("InternalFailure")<object> {}
export class ServiceUnavailable extends Data.TaggedError("ServiceUnavailable")<object> {}
/** The bytes are not an HTTP request. */
export class RequestMalformed extends Data.TaggedError("RequestMalformed")<object> {}
/** Neither HTTP/1.1 nor HTTP/1.0 (RFC 9110, section 2.5). */
export class HttpVersionUnsupported extends Data.TaggedError("HttpVersionUnsupported")<object> {}
/** A transfer coding other than `chunked` (RFC 9112, section 6.1). */
export class TransferCodingUnsupported extends Data.TaggedError("TransferCodingUnsupported")<object> {}
export class HeadersTooLarge extends Data.TaggedError("HeadersTooLarge")<object> {}
export class RequestTimeout extends Data.TaggedError("RequestTimeout")<object> {}
export class ExpectationFailed extends Data.TaggedError("ExpectationFailed")<object> {}

export const RouteNotFoundBody = plainErrorBody(RouteNotFound, {
  status: 404,
  error: "Not found",
  message: "No route has this path. /openapi.json lists the routes."
})
export const MethodNotAllowedBody = fieldsErrorBody(MethodNotAllowed, {
  status: 405,
  error: "Method not allowed",
  message: ({ allowed }) => `This path supports ${allowed.join(", ")}.`,
  members: Schema.Struct({ allowed: Schema.Array(Schema.String) }),
  example: { allowed: ["GET", "PUT"] }
})
export const BodyTooLargeBody = errorBody(BodyTooLarge, {
  status: 413,
  error: "Body too large",
  message: ({ limit }) => `The request body may have at most ${limit} bytes.`,
  example: new BodyTooLarge({ limit: 1_048_576 }),
  read: (message) => new BodyTooLarge({ limit: Number(/\d+/.exec(message)?.[0] ?? 0) })
})
export const MediaTypeUnsupportedBody = errorBody(MediaTypeUnsupported, {
  status: 415,
  error: "Unsupported media type",
  message: ({ supported }) =>
    `The request body must be ${supported.join(" or ")}, uncompressed and in UTF-8, with a matching Content-Type.`,
  example: new MediaTypeUnsupported({ supported: ["application/json"] }),
  read: () => new MediaTypeUnsupported({ supported: [] })
})
export const BodyMalformedBody = errorBody(BodyMalformed, {
  status: 400,
  error: "Malformed body",
  message: ({ reason }) => `The request body ${reason}.`,
  example: new BodyMalformed({ reason: "is not valid JSON" }),
  read: (message) => new BodyMalformed({ reason: message })
})
export const OriginNotAllowedBody = plainErrorBody(OriginNotAllowed, {
  status: 403,
  error: "Forbidden origin",
  message: "Pages of other origins cannot send this request."
})
export const InternalFailureBody = plainErrorBody(InternalFailure, {
  status: 500,
  error: "internal",
  message: "The service failed. Quote the traceId when you report it."
})
export const ServiceUnavailableBody = plainErrorBody(ServiceUnavailable, {
  status: 503,
  error: "Service unavailable",
  message: "The service is temporarily unavailable. Try again in a few seconds."
})
export const RequestMalformedBody = plainErrorBody(RequestMalformed, {
  status: 400,
  error: "Malformed request",
  message: "The bytes are not a valid HTTP request."
})
export const HttpVersionUnsupportedBody = plainErrorBody(HttpVersionUnsupported, {
  status: 505,
  error: "Unsupported HTTP version",
  message: "Send the request in HTTP/1.1."
})
export const TransferCodingUnsupportedBody = plainErrorBody(TransferCodingUnsupported, {
  status: 501,
  error: "Unsupported transfer coding",
  message: "Transfer-Encoding must be chunked alone."
})
export const HeadersTooLargeBody = plainErrorBody(HeadersTooLarge, {
  status: 431,
  error: "Headers too large",
  message: "The request line and headers may have at most 16 KiB together."
})
export const RequestTimeoutBody = plainErrorBody(RequestTimeout, {
  status: 408,
  error: "Request timeout",
  message: "The request took too long to arrive. Send it again on a new connection."
})
export const ExpectationFailedBody = plainErrorBody(ExpectationFailed, {
  status: 417,
  error: "Expectation failed",
  message: "Unsupported Expect header; only 100-continue is allowed."
})
