import {
  BodyIsMalformedBody,
  BodyIsTooLargeBody,
  InternalFailure,
  InternalFailureBody,
  MediaTypeIsUnsupportedBody,
  MethodIsNotAllowed,
  MethodIsNotAllowedBody,
  OriginIsForeign,
  OriginIsForeignBody,
  RequestIsMalformed,
  RequestIsMalformedBody,
  ServiceIsUnavailable,
  ServiceIsUnavailableBody,
  RouteIsUnknown,
  RouteIsUnknownBody
} from "@berth/api/http/TransportErrors"
import { retryAfterSeconds } from "@berth/api/limits/RateLimits"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { Outages, type Unavailable } from "@berth/domain/limits/Unavailable"
import { Caller } from "@berth/domain/sessions/Caller"
import { HttpLayerRouter, HttpServerRespondable, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Cause, Clock, Effect, Either, Option } from "effect"
import type { FindCaller } from "./CallerHttp.ts"
import { IncomingMessage } from "node:http"
import { inEnvelope, type ReshapeError } from "./ErrorEnvelope.ts"
import { errorResponse } from "./ErrorResponse.ts"
import { Idempotency } from "./Idempotency.ts"
import { isOwnOrigin } from "./OriginRule.ts"
import { type BodyRefusal, isBodyRefusal, withBody } from "./RequestBody.ts"
import { acceptRequestId } from "./RequestId.ts"
import { recordRequest } from "./RequestTelemetry.ts"
import { errorMembersAt, type KnownRoute, methodsAt, routeFor } from "./RouteTable.ts"
import { securityHeaders } from "./SecurityHeaders.ts"
import { hideQuery } from "./SpanSecrets.ts"
import { WebSettings } from "./WebSettings.ts"

/** A path as it can name something: well-formed percent-encoding, no U+0000. */
const isNameable = (path: string) =>
  Either.match(
    Either.try(() => decodeURIComponent(path)),
    { onLeft: () => false, onRight: (decoded) => !decoded.includes("\u0000") }
  )

/** HTTP/1.1 wants every request to say which host it means, once: of two, a proxy before us may have read the other one. */
const isForOneHost = ({ source }: HttpServerRequest.HttpServerRequest) => {
  if (!(source instanceof IncomingMessage)) return true
  const hosts = source.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === "host").length
  return hosts === 1 || (hosts === 0 && source.httpVersion === "1.0")
}

const bodyRefusal = (refusal: BodyRefusal) => {
  switch (refusal._tag) {
    case "BodyIsTooLarge":
      return errorResponse(BodyIsTooLargeBody, refusal, { connection: "close" })
    case "MediaTypeIsUnsupported":
      return errorResponse(MediaTypeIsUnsupportedBody, refusal)
    case "BodyIsMalformed":
      return errorResponse(BodyIsMalformedBody, refusal)
  }
}

const unavailable = ({ retryAfter }: Unavailable) =>
  errorResponse(ServiceIsUnavailableBody, new ServiceIsUnavailable(), {
    "retry-after": String(retryAfterSeconds(retryAfter))
  })

const pathOf = (url: string) => url.split("?", 1)[0] ?? "/"

/**
 * What holds for every request of a listener, whatever its endpoint: its id, which paths and methods there are, the origin
 * rule, the size and type of bodies, repeated requests, and that every error is JSON.
 */
export const requestRules = <R>(
  table: ReadonlyArray<KnownRoute>,
  options: {
    readonly sameOrigin: boolean
    readonly bodyLimit: (path: string) => number
    /** What becomes of an error body at a path where clients want it in a shape of their own. */
    readonly reshapeErrors?: (path: string) => ReshapeError | undefined
    readonly caller: Effect.Effect<FindCaller, never, R>
  }
) =>
  HttpLayerRouter.middleware(
    Effect.gen(function* () {
      const { appUrl } = yield* WebSettings
      const ids = yield* IdGenerator
      const idempotency = yield* Idempotency
      const outages = yield* Outages
      const findCaller = yield* options.caller

      const answerDefect = (defect: unknown) => {
        if (isBodyRefusal(defect)) return Effect.succeed(bodyRefusal(defect))
        if (HttpServerRespondable.isRespondable(defect)) return Effect.orDie(HttpServerRespondable.toResponse(defect))
        return Option.match(outages.recognise(defect), {
          onSome: (outage) =>
            Effect.as(
              Effect.logWarning("A request was not carried out").pipe(Effect.annotateLogs("reason", outage.message)),
              unavailable(outage)
            ),
          onNone: () =>
            Effect.as(
              Effect.logError("A request failed unexpectedly", Cause.die(defect)),
              errorResponse(InternalFailureBody, new InternalFailure())
            )
        })
      }

      const refuse = (
        request: HttpServerRequest.HttpServerRequest,
        path: string,
        route: Option.Option<KnownRoute>
      ): Option.Option<HttpServerResponse.HttpServerResponse> => {
        if (!isForOneHost(request)) return Option.some(errorResponse(RequestIsMalformedBody, new RequestIsMalformed()))
        if (!isNameable(path)) return Option.some(errorResponse(RouteIsUnknownBody, new RouteIsUnknown()))
        if (Option.isNone(route)) {
          const allowed = methodsAt(table, path)
          return Option.some(
            allowed.length === 0
              ? errorResponse(RouteIsUnknownBody, new RouteIsUnknown())
              : errorResponse(MethodIsNotAllowedBody, new MethodIsNotAllowed({ allowed }), {
                  allow: allowed.join(", ")
                })
          )
        }
        if (options.sameOrigin && !isOwnOrigin(request.method, request.headers["origin"], appUrl))
          return Option.some(errorResponse(OriginIsForeignBody, new OriginIsForeign()))
        return Option.none()
      }

      return <E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
        Effect.gen(function* () {
          const startedAt = yield* Clock.currentTimeNanos
          const request = yield* HttpServerRequest.HttpServerRequest
          const path = pathOf(request.url)
          const route = routeFor(table, request.method, path)
          const caller = yield* findCaller(request)
          yield* hideQuery(request)
          const requestId = acceptRequestId(request.headers["x-request-id"]) ?? (yield* ids.next("req"))
          const traceId = Option.map(yield* Effect.option(Effect.currentSpan), (span) => span.traceId)

          const answer = Effect.either(withBody(request, route, options.bodyLimit(path))).pipe(
            Effect.flatMap(
              Either.match({
                onLeft: (refusal) => Effect.succeed(bodyRefusal(refusal)),
                onRight: (read) =>
                  Effect.provideService(idempotency.apply(read, route, app), HttpServerRequest.HttpServerRequest, read)
              })
            ),
            Effect.catchAllDefect(answerDefect),
            Effect.provideService(Caller, caller)
          )
          const response = yield* Option.match(refuse(request, path, route), {
            onSome: Effect.succeed,
            onNone: () => answer
          }).pipe(Effect.annotateLogs("requestId", requestId))
          const enveloped = inEnvelope(response, errorMembersAt(table, path), traceId, options.reshapeErrors?.(path))
          yield* recordRequest({
            request,
            path,
            route,
            response: enveloped,
            startedAt,
            requestId,
            user: yield* caller.user
          })
          return HttpServerResponse.setHeaders(enveloped, {
            ...securityHeaders,
            "x-request-id": requestId
          })
        })
    }),
    { global: true }
  )
