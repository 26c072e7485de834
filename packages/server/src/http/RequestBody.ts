import {
  BodyMalformed,
  BodyMalformedBody,
  BodyTooLarge,
  BodyTooLargeBody,
  MediaTypeUnsupported,
  MediaTypeUnsupportedBody
} from "@berth/api/http/TransportErrors"
import { Headers, HttpServerError, type HttpServerRequest, UrlParams } from "@effect/platform"
import { Effect, Either, Option } from "effect"
import { Readable } from "node:stream"
import { makeErrorResponse } from "./ErrorResponse.ts"
import type { KnownRoute } from "./RouteTable.ts"

/** One MiB, as every JSON body may have. */
export const defaultBodyLimit = 1024 * 1024

export type BodyFailure = BodyTooLarge | BodyMalformed | MediaTypeUnsupported

export const isBodyFailure = (value: unknown): value is BodyFailure =>
  value instanceof BodyTooLarge || value instanceof BodyMalformed || value instanceof MediaTypeUnsupported

/** Returns the response to a rejected body. */
export const toBodyErrorResponse = (refusal: BodyFailure) => {
  switch (refusal._tag) {
    case "BodyTooLarge":
      return makeErrorResponse(BodyTooLargeBody, refusal, { connection: "close" })
    case "MediaTypeUnsupported":
      return makeErrorResponse(MediaTypeUnsupportedBody, refusal)
    case "BodyMalformed":
      return makeErrorResponse(BodyMalformedBody, refusal)
  }
}

const methodsWithBody = new Set(["POST", "PUT", "PATCH", "DELETE"])

/** Whether a body of this request means anything. */
export const mayHaveBody = ({ method }: HttpServerRequest.HttpServerRequest): boolean => methodsWithBody.has(method)

const readContentLength = ({ headers }: HttpServerRequest.HttpServerRequest) => Number(headers["content-length"] ?? 0)

/** Whether a request says that its body is larger than most may be. */
export const isLarge = (request: HttpServerRequest.HttpServerRequest): boolean =>
  readContentLength(request) > defaultBodyLimit

/** Whether it says that its body is larger than it may be. */
export const isTooLarge = (request: HttpServerRequest.HttpServerRequest, limit: number): boolean =>
  readContentLength(request) > limit

/** Reads a whole body and stops at `limit`: what comes after is thrown away, so that the answer still reaches the client. */
const readAll = (source: Readable, limit: number) =>
  Effect.async<Buffer, BodyTooLarge | BodyMalformed>((resume) => {
    const chunks: Array<Buffer> = []
    let size = 0
    const onData = (chunk: Buffer) => {
      size += chunk.length
      if (size <= limit) {
        chunks.push(chunk)
        return
      }
      finish()
      source.resume()
      resume(new BodyTooLarge({ limit }))
    }
    const onEnd = () => {
      finish()
      resume(Effect.succeed(Buffer.concat(chunks)))
    }
    const onCut = () => {
      finish()
      resume(new BodyMalformed({ reason: "was cut off" }))
    }
    const finish = () => source.off("data", onData).off("end", onEnd).off("error", onCut).off("close", onCut)
    // Nothing comes any more from a client that has left meanwhile, not even the sign that it has.
    if (source.destroyed) return onCut()
    source.on("data", onData).on("end", onEnd).on("error", onCut).on("close", onCut)
    return Effect.sync(finish)
  })

const jsonType = "application/json"
const formType = "application/x-www-form-urlencoded"
/** Its route reads it: what a form may hold differs, and nothing of it needs a disk. */
const multipartType = "multipart/form-data"

const mediaTypeOf = (contentType: string) => (contentType.split(";")[0] ?? "").trim().toLowerCase()

const isCoded = ({ headers }: HttpServerRequest.HttpServerRequest) =>
  (headers["content-encoding"] ?? "identity").toLowerCase() !== "identity"

/** Uncoded and in UTF-8. */
const isPlain = (request: HttpServerRequest.HttpServerRequest) => {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(request.headers["content-type"] ?? "")?.[1]
  return !isCoded(request) && (charset === undefined || /^(utf-?8|us-ascii)$/i.test(charset))
}

const isAccepted = (type: string, accepted: ReadonlyArray<string>) =>
  accepted.includes(type) || (accepted.includes(jsonType) && /^application\/[\w.+-]+\+json$/.test(type))

/*
 * No request of ours comes near these. Of far deeper values whoever looks into them runs out of stack, and naming what is
 * wrong with each of far more of them keeps everybody else waiting.
 */
const maximumDepth = 64
const maximumValues = 10_000

const ampersand = 0x26

const isStorable = (text: string) => !text.includes("\u0000") && text.isWellFormed()

/** What is wrong with a JSON value. PostgreSQL text holds neither U+0000 nor lone surrogates, so no text of ours does. */
const findJsonFault = (whole: unknown): string | undefined => {
  let values = 0
  const fault = (value: unknown, depth: number): string | undefined => {
    values += 1
    if (values > maximumValues) return `has more than ${maximumValues} values`
    if (typeof value === "string") return isStorable(value) ? undefined : "holds U+0000 or a lone surrogate"
    if (typeof value !== "object" || value === null) return undefined
    if (depth === maximumDepth) return `is nested deeper than ${maximumDepth} levels`
    const parts: ReadonlyArray<unknown> = Array.isArray(value) ? value : Object.entries(value).flat()
    for (const part of parts) {
      const found = fault(part, depth + 1)
      if (found !== undefined) return found
    }
    return undefined
  }
  return fault(whole, 0)
}

/** JSON as a value; an empty body is an empty object, so that a missing field is named rather than "no JSON". */
export const parseJsonBody = (bytes: Uint8Array): Either.Either<unknown, BodyMalformed> =>
  Either.flatMap(
    Either.try({
      try: (): unknown => {
        const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
        return text.trim() === "" ? {} : JSON.parse(text)
      },
      catch: () => new BodyMalformed({ reason: "is not well-formed JSON in UTF-8" })
    }),
    (value) => {
      const reason = findJsonFault(value)
      return reason === undefined ? Either.right(value) : Either.left(new BodyMalformed({ reason }))
    }
  )

/**
 * The request with its body read, checked for size and media type, and parsed: routes that take a body find it as the
 * request's own `json`, `text`, `arrayBuffer` and `urlParamsBody`. A body of the wrong type, or one that is no JSON, is
 * refused by a defect when the endpoint reads it: who calls, and what the path names, are looked at before that.
 */
export const readRequestBody = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  route: Option.Option<KnownRoute>,
  limit: number
) {
  const source = request.source
  if (!mayHaveBody(request) || !(source instanceof Readable)) return request
  if (isTooLarge(request, limit)) {
    source.resume()
    return yield* new BodyTooLarge({ limit })
  }
  const bytes = yield* readAll(source, limit)
  const accepted = Option.match(route, {
    onNone: (): ReadonlyArray<string> => [],
    onSome: ({ bodyTypes }) => bodyTypes
  })
  if (accepted.length === 0) return withMembers(request, textMembers(request, bytes))
  const type = mediaTypeOf(request.headers["content-type"] ?? "")
  if (type === formType && accepted.includes(formType)) {
    const pairs = bytes.reduce((count, byte) => (byte === ampersand ? count + 1 : count), 1)
    if (pairs > maximumValues) return yield* new BodyMalformed({ reason: `has more than ${maximumValues} form fields` })
    return withMembers(request, textMembers(request, bytes))
  }
  // Whose endpoint takes it takes it apart.
  if (type === multipartType && accepted.includes(multipartType))
    return withMembers(request, {
      ...refusing(new MediaTypeUnsupported({ supported: accepted })),
      ...rawMembers(bytes)
    })
  if (bytes.length > 0 && !(isAccepted(type, accepted) && isPlain(request)))
    return withMembers(request, refusing(new MediaTypeUnsupported({ supported: accepted })))
  return Either.match(parseJsonBody(bytes), {
    onLeft: (refusal) => withMembers(request, refusing(refusal)),
    onRight: (json) =>
      withMembers(request, {
        ...textMembers(request, bytes),
        json: Effect.succeed(json),
        // Whatever its subtype is called, or when there was nothing to name a type for.
        headers: Headers.set(request.headers, "content-type", jsonType)
      })
  })
})

type RequestMembers = Partial<HttpServerRequest.HttpServerRequest>

const withMembers = (
  request: HttpServerRequest.HttpServerRequest,
  members: RequestMembers
): HttpServerRequest.HttpServerRequest =>
  new Proxy(request, {
    get: (target, key): unknown =>
      Object.hasOwn(members, key) ? Reflect.get(members, key) : Reflect.get(target, key, target)
  })

const textMembers = (request: HttpServerRequest.HttpServerRequest, bytes: Buffer): RequestMembers => {
  const text = Effect.sync(() => bytes.toString("utf8"))
  return {
    json: Effect.mapError(
      Effect.suspend(() => parseJsonBody(bytes)),
      (cause) => new HttpServerError.RequestError({ request, reason: "Decode", cause })
    ),
    text,
    ...rawMembers(bytes),
    urlParamsBody: Effect.map(text, (body) => UrlParams.fromInput(new URLSearchParams(body)))
  }
}

const rawMembers = (bytes: Buffer): RequestMembers => ({
  arrayBuffer: Effect.sync(() => new Uint8Array(bytes).buffer)
})

const refusing = (refusal: BodyFailure): RequestMembers => {
  const refused = Effect.die(refusal)
  return { json: refused, text: refused, arrayBuffer: refused, urlParamsBody: refused, multipart: refused }
}
