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
  RouteIsUnknown,
  RouteIsUnknownBody
} from "@berth/api/http/TransportErrors"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { HttpLayerRouter, HttpServerRespondable, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Cause, Clock, Effect, Either, Option } from "effect"
import { inEnvelope } from "./ErrorEnvelope.ts"
import { errorResponse } from "./ErrorResponse.ts"
import { Idempotency } from "./Idempotency.ts"
import { isOwnOrigin } from "./OriginRule.ts"
import { type BodyRefusal, isBodyRefusal, withBody } from "./RequestBody.ts"
import { acceptRequestId } from "./RequestId.ts"
import { recordRequest } from "./RequestTelemetry.ts"
import { errorMembersAt, type KnownRoute, methodsAt, routeFor } from "./RouteTable.ts"
import { WebSettings } from "./WebSettings.ts"

/** A path as it can name something: well-formed percent-encoding, no U+0000. */
const isNameable = (path: string) =>
  Either.match(
    Either.try(() => decodeURIComponent(path)),
    { onLeft: () => false, onRight: (decoded) => !decoded.includes("\u0000") }
  )

const securityHeaders = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "same-origin"
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

const pathOf = (url: string) => url.split("?", 1)[0] ?? "/"

/**
 * What holds for every request of a listener, whatever its endpoint: its id, which paths and methods there are, the origin
 * rule, the size and type of bodies, repeated requests, and that every error is JSON.
 */
export const requestRules = (
  table: ReadonlyArray<KnownRoute>,
  options: { readonly sameOrigin: boolean; readonly bodyLimit: (path: string) => number }
) =>
  HttpLayerRouter.middleware(
    Effect.gen(function* () {
      const { appUrl } = yield* WebSettings
      const ids = yield* IdGenerator
      const idempotency = yield* Idempotency

      const refuse = (
        request: HttpServerRequest.HttpServerRequest,
        path: string,
        route: Option.Option<KnownRoute>
      ): Option.Option<HttpServerResponse.HttpServerResponse> => {
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
            Effect.catchAllDefect((defect) =>
              isBodyRefusal(defect)
                ? Effect.succeed(bodyRefusal(defect))
                : HttpServerRespondable.isRespondable(defect)
                  ? Effect.orDie(HttpServerRespondable.toResponse(defect))
                  : Effect.logError("A request failed unexpectedly", Cause.die(defect)).pipe(
                      Effect.as(errorResponse(InternalFailureBody, new InternalFailure()))
                    )
            )
          )
          const response = yield* Option.match(refuse(request, path, route), {
            onSome: Effect.succeed,
            onNone: () => answer
          }).pipe(Effect.annotateLogs("requestId", requestId))
          yield* recordRequest({ request, path, route, response, startedAt, requestId })
          return HttpServerResponse.setHeaders(inEnvelope(response, errorMembersAt(table, path), traceId), {
            ...securityHeaders,
            "x-request-id": requestId
          })
        })
    }),
    { global: true }
  )
