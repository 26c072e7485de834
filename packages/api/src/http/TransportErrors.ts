import { HttpApiSchema } from "@effect/platform"
import { Data, Schema } from "effect"
import { classOf, errorBody, errorFields } from "./ErrorBody.ts"

/*
 * What can be wrong with a request before its endpoint is known or its body read. Any path can answer these.
 */

export class RouteIsUnknown extends Data.TaggedError("RouteIsUnknown")<object> {}
export class MethodIsNotAllowed extends Data.TaggedError("MethodIsNotAllowed")<{
  readonly allowed: ReadonlyArray<string>
}> {}
export class BodyIsTooLarge extends Data.TaggedError("BodyIsTooLarge")<{ readonly limit: number }> {}
export class MediaTypeIsUnsupported extends Data.TaggedError("MediaTypeIsUnsupported")<{
  readonly supported: ReadonlyArray<string>
}> {}
export class BodyIsMalformed extends Data.TaggedError("BodyIsMalformed")<{ readonly reason: string }> {}
export class OriginIsForeign extends Data.TaggedError("OriginIsForeign")<object> {}
export class InternalFailure extends Data.TaggedError("InternalFailure")<object> {}
export class ServiceIsUnavailable extends Data.TaggedError("ServiceIsUnavailable")<object> {}
/** The bytes are no HTTP request. */
export class RequestIsMalformed extends Data.TaggedError("RequestIsMalformed")<object> {}
export class HeadersAreTooLarge extends Data.TaggedError("HeadersAreTooLarge")<object> {}
export class RequestTookTooLong extends Data.TaggedError("RequestTookTooLong")<object> {}
export class ExpectationFailed extends Data.TaggedError("ExpectationFailed")<object> {}

export const RouteIsUnknownBody = errorBody(RouteIsUnknown, {
  status: 404,
  code: "route_not_found",
  error: "Not found",
  message: "There is nothing at this path. /openapi.json lists what there is.",
  read: () => new RouteIsUnknown()
})
export const MethodIsNotAllowedBody = Schema.transform(
  Schema.Struct({ ...errorFields("method_not_allowed"), allowed: Schema.Array(Schema.String) }),
  classOf(MethodIsNotAllowed),
  {
    strict: true,
    decode: ({ allowed }) => new MethodIsNotAllowed({ allowed }),
    encode: ({ allowed }) => ({
      error: "Method not allowed",
      message: `This path takes ${allowed.join(", ")}.`,
      code: "method_not_allowed" as const,
      allowed
    })
  }
).annotations(HttpApiSchema.annotations({ status: 405 }))
export const BodyIsTooLargeBody = errorBody(BodyIsTooLarge, {
  status: 413,
  code: "body_too_large",
  error: "Body too large",
  message: ({ limit }) => `The request body may have at most ${limit} bytes.`,
  read: (message) => new BodyIsTooLarge({ limit: Number(/\d+/.exec(message)?.[0] ?? 0) })
})
export const MediaTypeIsUnsupportedBody = errorBody(MediaTypeIsUnsupported, {
  status: 415,
  code: "unsupported_media_type",
  error: "Unsupported media type",
  message: ({ supported }) => `The request body must be ${supported.join(" or ")}; say so in Content-Type.`,
  read: () => new MediaTypeIsUnsupported({ supported: [] })
})
export const BodyIsMalformedBody = errorBody(BodyIsMalformed, {
  status: 400,
  code: "malformed_body",
  error: "Malformed body",
  message: ({ reason }) => `The request body ${reason}.`,
  read: (message) => new BodyIsMalformed({ reason: message })
})
export const OriginIsForeignBody = errorBody(OriginIsForeign, {
  status: 403,
  code: "foreign_origin",
  error: "Forbidden origin",
  message: "This request comes from a page of another origin.",
  read: () => new OriginIsForeign()
})
export const InternalFailureBody = errorBody(InternalFailure, {
  status: 500,
  code: "internal",
  error: "internal",
  message: "Something went wrong on our side. Quote the traceId when you report it.",
  read: () => new InternalFailure()
})
export const ServiceIsUnavailableBody = errorBody(ServiceIsUnavailable, {
  status: 503,
  code: "unavailable",
  error: "Unavailable",
  message: "The service cannot answer for the moment. Try again in a few seconds; nothing is wrong with the request.",
  read: () => new ServiceIsUnavailable()
})
export const RequestIsMalformedBody = errorBody(RequestIsMalformed, {
  status: 400,
  code: "malformed_request",
  error: "Malformed request",
  message: "This is no HTTP request that can be read.",
  read: () => new RequestIsMalformed()
})
export const HeadersAreTooLargeBody = errorBody(HeadersAreTooLarge, {
  status: 431,
  code: "headers_too_large",
  error: "Headers too large",
  message: "The request line and headers may have at most 16 KiB together.",
  read: () => new HeadersAreTooLarge()
})
export const RequestTookTooLongBody = errorBody(RequestTookTooLong, {
  status: 408,
  code: "request_timeout",
  error: "Request timeout",
  message: "The request took too long to arrive. Send it again on a new connection.",
  read: () => new RequestTookTooLong()
})
export const ExpectationFailedBody = errorBody(ExpectationFailed, {
  status: 417,
  code: "expectation_failed",
  error: "Expectation failed",
  message: "Of Expect only 100-continue is understood.",
  read: () => new ExpectationFailed()
})
