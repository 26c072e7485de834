import {
  BodyMalformed,
  BodyMalformedBody,
  BodyTooLargeBody,
  MediaTypeUnsupported,
  MediaTypeUnsupportedBody,
  RequestTimeoutBody
} from "@berth/api/http/TransportErrors"
import { Headers, HttpServerError, type HttpServerRequest, UrlParams } from "@effect/platform"
import { Cause, Effect, Either, Option, Schema } from "effect"
import { IncomingMessage } from "node:http"
import { makeErrorResponse } from "./ErrorResponse.ts"
import { type BodyFailure, ListenerRequest, type ParsedBody, type RequestContent } from "./ListenerRequest.ts"
import type { KnownRoute } from "./RouteTable.ts"

/** Limit of JSON bodies. */
export const defaultBodyLimit = 1024 * 1024

const BodyFailureBody = Schema.Union(BodyTooLargeBody, BodyMalformedBody, MediaTypeUnsupportedBody, RequestTimeoutBody)

export const isBodyFailure = Schema.is(BodyFailureBody)

/** Returns the response to a rejected body. */
export const toBodyErrorResponse = (refusal: BodyFailure) => makeErrorResponse(BodyFailureBody, refusal)

const methodsWithBody = new Set(["POST", "PUT", "PATCH", "DELETE"])

/** Whether the method defines a meaning for a body. */
export const mayHaveBody = ({ method }: HttpServerRequest.HttpServerRequest): boolean => methodsWithBody.has(method)

const readContentLength = ({ headers }: HttpServerRequest.HttpServerRequest) => Number(headers["content-length"] ?? 0)

/** Whether the declared length exceeds the default limit. */
export const isLarge = (request: HttpServerRequest.HttpServerRequest): boolean =>
  readContentLength(request) > defaultBodyLimit

/** Whether the declared length exceeds `limit`. */
export const isTooLarge = (request: HttpServerRequest.HttpServerRequest, limit: number): boolean =>
  readContentLength(request) > limit

const jsonType = "application/json"
const formType = "application/x-www-form-urlencoded"
/** Parsed by the route. */
const multipartType = "multipart/form-data"

const mediaTypeOf = (contentType: string) => (contentType.split(";")[0] ?? "").trim().toLowerCase()

/** Whether the body is that of an HTML form. */
export const isForm = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  mediaTypeOf(headers["content-type"] ?? "") === formType

/** Whether the body has a content coding; none is supported. */
export const isCoded = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  (headers["content-encoding"] ?? "identity").toLowerCase() !== "identity"

/** Whether a body is uncompressed UTF-8. */
const isPlain = (request: HttpServerRequest.HttpServerRequest) => {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers["content-type"] ?? "")?.[1]
  return !isCoded(request) && (charset === undefined || /^(utf-?8|us-ascii)$/i.test(charset))
}

const isAccepted = (type: string, accepted: ReadonlyArray<string>) =>
  accepted.includes(type) || (accepted.includes(jsonType) && /^application\/[\w.+-]+\+json$/.test(type))

// Deeper values overflow the decoder's stack. Each invalid value costs about 50 µs in the error report, which blocks the
// event loop; names of members cost little and do not count.
const maximumDepth = 64
const maximumValues = 10_000

const unstorable = "holds U+0000 or a lone surrogate"
const isStorable = (text: string) => !text.includes("\u0000") && text.isWellFormed()

/** Describes the first invalid part of a JSON value. PostgreSQL text excludes U+0000 and lone surrogates. */
const findJsonFault = (whole: unknown): string | undefined => {
  let values = 0
  const fault = (value: unknown, depth: number): string | undefined => {
    values += 1
    if (values > maximumValues) return `has more than ${maximumValues} values`
    if (typeof value === "string") return isStorable(value) ? undefined : unstorable
    if (typeof value !== "object" || value === null) return undefined
    if (depth === maximumDepth) return `is nested deeper than ${maximumDepth} levels`
    if (!Array.isArray(value) && !Object.keys(value).every(isStorable)) return unstorable
    const parts: ReadonlyArray<unknown> = Array.isArray(value) ? value : Object.values(value)
    for (const part of parts) {
      const found = fault(part, depth + 1)
      if (found !== undefined) return found
    }
    return undefined
  }
  return fault(whole, 0)
}

const utf8 = new TextDecoder("utf-8", { fatal: true })

/** Parses JSON. An empty body becomes an empty object, so that errors name the missing fields. */
export const parseJsonBody = (bytes: Uint8Array): Either.Either<unknown, BodyMalformed> =>
  Either.flatMap(
    Either.try({
      try: (): unknown => {
        const text = utf8.decode(bytes)
        return text.trim() === "" ? {} : JSON.parse(text)
      },
      catch: () => new BodyMalformed({ reason: "is not well-formed JSON in UTF-8" })
    }),
    (value) => {
      const reason = findJsonFault(value)
      return reason === undefined ? Either.right(value) : Either.left(new BodyMalformed({ reason }))
    }
  )

/** Whether the client waits for a 100 before it sends the body. Other expectations never reach the pipeline. */
export const expectsContinue = ({ headers, source }: ListenerRequest): boolean =>
  headers["expect"] !== undefined && source.httpVersion === "1.1"

const unreadBytesForKeepAlive = 64 * 1024

/** Whether too much of the body is unread to reuse the connection. */
export const hasLongUnreadBody = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.source instanceof IncomingMessage &&
  !request.source.complete &&
  (request.headers["transfer-encoding"] !== undefined || readContentLength(request) > unreadBytesForKeepAlive)

const findFormFault = (bytes: Buffer): string | undefined => {
  let pairs = 1
  for (let at = bytes.indexOf("&"); at !== -1; at = bytes.indexOf("&", at + 1)) pairs += 1
  if (pairs > maximumValues) return `has more than ${maximumValues} form fields`
  return bytes.includes("%00") || bytes.includes(0) ? "holds U+0000" : undefined
}

type ParsedContent = Effect.Effect<Either.Either<ParsedBody, BodyFailure>>

/** Parses the body of a request once, at its first use by the route, after the checks of headers. */
const parseOnce = (
  read: Effect.Effect<Buffer, BodyFailure>,
  parse: (body: Buffer) => Either.Either<ParsedBody, BodyFailure>
): ParsedContent => {
  let known: ParsedContent | undefined
  const first = Effect.matchCauseEffect(read, {
    onFailure: (cause) =>
      (known = Either.match(Cause.failureOrCause(cause), {
        onLeft: (failure) => Effect.succeed(Either.left(failure)),
        onRight: Effect.failCause
      })),
    onSuccess: (body) => (known = Effect.succeed(parse(body)))
  })
  return Effect.suspend(() => known ?? first)
}

/** Returns the body of a request, or its rejection. */
export const readParsedBody = (request: HttpServerRequest.HttpServerRequest): ParsedContent =>
  request instanceof ListenerRequest ? request.content.parsed : Effect.dieMessage("A request of no listener")

const keepBytes = (bytes: Buffer) => Either.right({ bytes, value: undefined })

const checkForm = (bytes: Buffer): Either.Either<ParsedBody, BodyFailure> => {
  const reason = findFormFault(bytes)
  return reason === undefined ? keepBytes(bytes) : Either.left(new BodyMalformed({ reason }))
}

/** Sets the content of a request: on reading, the media type is checked and the body parsed. */
export const setLazyContent = (
  request: ListenerRequest,
  route: Option.Option<KnownRoute>,
  read: Effect.Effect<Buffer, BodyFailure>
): void => {
  const accepted = Option.isSome(route) ? route.value.bodyTypes : []
  const type = mediaTypeOf(request.headers["content-type"] ?? "")
  if (accepted.length === 0) {
    request.content = new UndeclaredContent(request, parseOnce(read, keepBytes))
    return
  }
  // Lazy, since an error captures a stack trace.
  const unsupported = () => new MediaTypeUnsupported({ supported: accepted })
  const parseUncoded = (parse: typeof checkForm) =>
    parseOnce(read, (bytes) => (isCoded(request) ? Either.left(unsupported()) : parse(bytes)))
  if (type === formType && accepted.includes(formType)) {
    request.content = new UndeclaredContent(request, parseUncoded(checkForm))
    return
  }
  if (type === multipartType && accepted.includes(multipartType)) {
    const refused = Effect.dieSync(unsupported)
    const parsed = parseUncoded(keepBytes)
    const { arrayBuffer } = new UndeclaredContent(request, parsed)
    request.content = { parsed, json: refused, text: refused, urlParamsBody: refused, arrayBuffer }
    return
  }
  const isSupported = isAccepted(type, accepted) && isPlain(request)
  request.content = new JsonContent(
    request,
    parseOnce(read, (bytes) =>
      bytes.length === 0 || isSupported
        ? Either.map(parseJsonBody(bytes), (value) => ({ bytes, value }))
        : Either.left(unsupported())
    )
  )
  // Any JSON subtype is accepted.
  if (request.headers["content-type"] !== jsonType)
    request.headers = Headers.set(request.headers, "content-type", jsonType)
}

/** Copies only if the body does not fill its buffer. */
const toArrayBuffer = (body: Buffer): ArrayBuffer =>
  body.buffer instanceof ArrayBuffer && body.buffer.byteLength === body.byteLength
    ? body.buffer
    : new Uint8Array(body).buffer

/** Content without a declared schema. Its effects are made on use: most requests use one of them, or none. */
class UndeclaredContent implements RequestContent {
  constructor(
    private readonly request: ListenerRequest,
    readonly parsed: ParsedContent
  ) {}

  /** Dies with a rejection of the body, which the pipeline converts to its response. */
  protected get accepted(): Effect.Effect<ParsedBody> {
    return Effect.flatMap(this.parsed, (read) =>
      Either.isLeft(read) ? Effect.die(read.left) : Effect.succeed(read.right)
    )
  }

  get json(): RequestContent["json"] {
    return Effect.mapError(
      Effect.flatMap(this.accepted, ({ bytes }) => parseJsonBody(bytes)),
      (cause) => new HttpServerError.RequestError({ request: this.request, reason: "Decode", cause })
    )
  }

  get text() {
    return Effect.map(this.accepted, ({ bytes }) => bytes.toString("utf8"))
  }

  get arrayBuffer() {
    return Effect.map(this.accepted, ({ bytes }) => toArrayBuffer(bytes))
  }

  get urlParamsBody() {
    return Effect.map(this.text, (read) => UrlParams.fromInput(new URLSearchParams(read)))
  }
}

class JsonContent extends UndeclaredContent {
  override get json() {
    return Effect.map(this.accepted, ({ value }) => value)
  }
}
