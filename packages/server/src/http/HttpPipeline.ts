import {
  BodyTooLarge,
  MethodNotAllowed,
  MethodNotAllowedBody,
  OriginNotAllowed,
  OriginNotAllowedBody,
  RequestMalformed,
  RequestMalformedBody,
  RouteNotFound,
  RouteNotFoundBody,
  TransferCodingUnsupported,
  TransferCodingUnsupportedBody
} from "@berth/api/http/TransportErrors"
import { RequiredScope } from "@berth/api/sessions/RequiredScope"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { normalizeClientAddress } from "@berth/domain/limits/ClientAddress"
import { Caller, type CallerContext } from "@berth/domain/sessions/Caller"
import { HttpLayerRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Clock, Context, Effect, Either, FiberRef, HashMap, Option, Scope } from "effect"
import { IncomingMessage } from "node:http"
import { Readable } from "node:stream"
import type { ResolveCaller } from "./RequestCaller.ts"
import { makeDefectHandler } from "./DefectHandler.ts"
import { tryDirectRoute, type DirectRoutes, noDirectRoutes } from "./DirectRoutes.ts"
import { wrapErrorBody, type ReshapeError } from "./ErrorEnvelope.ts"
import { makeErrorResponse } from "./ErrorResponse.ts"
import { IdempotencyMiddleware } from "./IdempotencyMiddleware.ts"
import { findInstanceSite, InstanceHost, type InstanceSite } from "./InstanceHost.ts"
import { isOwnOrigin } from "./OriginPolicy.ts"
import {
  type BodyFailure,
  hasLongUnreadBody,
  isCoded,
  isLarge,
  isTooLarge,
  mayHaveBody,
  toBodyErrorResponse,
  withLazyBody
} from "./RequestBody.ts"
import { makeCrossOriginHeaders } from "./CrossOriginHeaders.ts"
import { type MinimumRate, readBody } from "./BodyReader.ts"
import { acceptRequestId } from "./RequestId.ts"
import { makeRequestContext } from "./RequestSpan.ts"
import { recordRequest } from "./RequestTelemetry.ts"
import { findErrorMembers, type KnownRoute, listMethods, findRoute } from "./RouteTable.ts"
import { securityHeaders } from "./SecurityHeaders.ts"
import { redactQuery } from "./SpanRedaction.ts"
import { makeCredentialHeaders } from "./ResponseHeaders.ts"
import { SessionCookie } from "./SecretCookies.ts"
import { currentTraceId } from "./TraceId.ts"
import { makeUploadSlots } from "./UploadSlots.ts"
import { WebSettings } from "./WebSettings.ts"

/** Whether a path has well-formed percent-encoding and no U+0000. */
const isNameable = (path: string) =>
  path.includes("%")
    ? Either.match(
        Either.try(() => decodeURIComponent(path)),
        { onLeft: () => false, onRight: (decoded) => !decoded.includes("\u0000") }
      )
    : !path.includes("\u0000")

const isHost = (name: string) => name.length === 4 && name.toLowerCase() === "host"

/** HTTP/1.1 requires one `Host` header; with two, a proxy may have read the other one. */
const hasOneHost = ({ source }: HttpServerRequest.HttpServerRequest) => {
  if (!(source instanceof IncomingMessage)) return true
  const hosts = source.rawHeaders.filter((name, index) => index % 2 === 0 && isHost(name)).length
  return hosts === 1 || (hosts === 0 && source.httpVersion === "1.0")
}

const pathOf = (url: string) => url.split("?", 1)[0] ?? "/"

const makeServices = (caller: CallerContext, route: Option.Option<KnownRoute>, site: Option.Option<InstanceSite>) =>
  Context.make(Caller, caller).pipe(
    Context.add(InstanceHost, site),
    Context.add(RequiredScope, Option.match(route, { onNone: () => null, onSome: ({ scope }) => scope ?? null }))
  )

/** The router can decline a path that the route table has; the response is the same as for a path in neither. */
const withRouteNotFound = <E, R>(app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
  Effect.catchIf(
    app,
    (error) => error instanceof HttpServerError.RouteNotFound,
    () => Effect.succeed(makeErrorResponse(RouteNotFoundBody, new RouteNotFound()))
  )

/** The routes of a host, and the origin whose pages may call them. */
interface Site {
  readonly routes: ReadonlyArray<KnownRoute>
  readonly origin: URL
}

/** A response with its request. */
export interface AnsweredRequest {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly route: Option.Option<KnownRoute>
  readonly response: HttpServerResponse.HttpServerResponse
  readonly site: Option.Option<InstanceSite>
}

/** Adapts a response to its client, such as a page for a browser; the trace id links it to the logs. */
export type PresentAnswer = (
  answered: AnsweredRequest,
  traceId: Option.Option<string>
) => HttpServerResponse.HttpServerResponse
const presentUnchanged: PresentAnswer = ({ response }) => response

/**
 * The middleware of every request of a listener: request id, known paths and methods, origin check, size and media type of
 * bodies, idempotency keys, JSON errors.
 */
export const makeHttpPipeline = <R, P = never, D = never>(
  table: ReadonlyArray<KnownRoute>,
  options: {
    readonly sameOrigin: boolean
    readonly bodyLimit: (path: string, request: HttpServerRequest.HttpServerRequest) => number
    /** Whether bodies over the usual limit wait for slots, by client address. */
    readonly limitsUploads: boolean
    /** Reshapes error bodies at paths of another protocol. */
    readonly reshapeErrors?: (path: string) => ReshapeError | undefined
    readonly caller: Effect.Effect<ResolveCaller, never, R>
    /** Presentation of responses; unchanged when absent. */
    readonly presentation?: Effect.Effect<PresentAnswer, never, P>
    /** The routes at instances' subdomains; absent: host names make no difference. */
    readonly instanceTable?: ReadonlyArray<KnownRoute>
    /** Routes handled before the router; none when absent. */
    readonly direct?: Effect.Effect<DirectRoutes, never, D>
  }
) =>
  HttpLayerRouter.middleware(
    Effect.gen(function* () {
      const settings = yield* WebSettings
      const { appUrl, uploads } = settings
      const cookie = yield* SessionCookie
      const ids = yield* IdGenerator
      const idempotency = yield* IdempotencyMiddleware
      const findCaller = yield* options.caller
      const slots = options.limitsUploads ? Option.some(makeUploadSlots(uploads.perAddress)) : Option.none()
      const minimumRate: MinimumRate = { bytesPerSecond: uploads.minimumBytesPerSecond, grace: uploads.grace }
      const answerDefect = yield* makeDefectHandler
      const direct = options.direct === undefined ? noDirectRoutes : yield* options.direct
      const present = options.presentation === undefined ? presentUnchanged : yield* options.presentation

      const transportSecurity =
        options.sameOrigin && appUrl.protocol === "https:" ? { "strict-transport-security": "max-age=31536000" } : {}

      const webApi: Site = { routes: table, origin: appUrl }
      const { instanceTable } = options

      const refuse = (
        request: HttpServerRequest.HttpServerRequest,
        path: string,
        route: Option.Option<KnownRoute>,
        { origin: ownOrigin, routes }: Site
      ): Option.Option<HttpServerResponse.HttpServerResponse> => {
        if (!hasOneHost(request)) return Option.some(makeErrorResponse(RequestMalformedBody, new RequestMalformed()))
        if ((request.headers["transfer-encoding"] ?? "chunked").trim().toLowerCase() !== "chunked")
          return Option.some(
            makeErrorResponse(TransferCodingUnsupportedBody, new TransferCodingUnsupported(), { connection: "close" })
          )
        if (!isNameable(path)) return Option.some(makeErrorResponse(RouteNotFoundBody, new RouteNotFound()))
        if (Option.isNone(route)) {
          const allowed = listMethods(routes, path)
          return Option.some(
            allowed.length === 0
              ? makeErrorResponse(RouteNotFoundBody, new RouteNotFound())
              : makeErrorResponse(MethodNotAllowedBody, new MethodNotAllowed({ allowed }), {
                  allow: allowed.join(", ")
                })
          )
        }
        const origin = request.headers["origin"]
        // An open route accepts foreign pages only without a session cookie.
        const isOpen = Boolean(route.value.crossOrigin) && Option.isNone(cookie.read(request))
        const isExcused = isOpen || (origin === "null" && route.value.opaqueOrigin === true)
        if (options.sameOrigin && !isExcused && !isOwnOrigin(request.method, request.headers, ownOrigin))
          return Option.some(makeErrorResponse(OriginNotAllowedBody, new OriginNotAllowed()))
        return Option.none()
      }

      /** Reads the body of a request; a large one holds its slots until the response is complete. */
      const readInTurn = (
        request: HttpServerRequest.HttpServerRequest,
        address: Option.Option<string>,
        limit: number
      ): Effect.Effect<Buffer, BodyFailure, Scope.Scope> => {
        const { source } = request
        if (!(source instanceof Readable)) return Effect.dieMessage("The request has no body stream")
        if (!isLarge(request)) return readBody(source, limit, undefined)
        const read = readBody(source, limit, minimumRate)
        return Option.match(slots, {
          onNone: () => read,
          onSome: ({ acquire, acquireWork }) =>
            acquire(normalizeClientAddress(Option.getOrElse(address, () => "unknown"))).pipe(
              Effect.zipRight(read),
              Effect.zipLeft(acquireWork)
            )
        })
      }

      /** Requests without a body pass unchanged; others are read when their route needs the body. */
      const applyPipeline = <E, R>(
        request: HttpServerRequest.HttpServerRequest,
        caller: CallerContext,
        path: string,
        route: Option.Option<KnownRoute>,
        app: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
      ): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | Scope.Scope> => {
        const limit = options.bodyLimit(path, request)
        if (mayHaveBody(request) && isTooLarge(request, limit))
          return Effect.succeed(toBodyErrorResponse(new BodyTooLarge({ limit })))
        const handled: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R | Scope.Scope> = mayHaveBody(request)
          ? Effect.flatMap(Effect.scope, (scope) =>
              Effect.flatMap(
                withLazyBody(request, route, Scope.extend(readInTurn(request, caller.address, limit), scope)),
                (lazy) =>
                  Effect.provideService(
                    idempotency.apply(lazy, route, tryDirectRoute(direct, route, lazy, app)),
                    HttpServerRequest.HttpServerRequest,
                    lazy
                  )
              )
            )
          : idempotency.apply(request, route, app)
        return Effect.catchAllDefect(handled, answerDefect(request, caller))
      }

      /** Presents the response; errors get the members of their path and the trace id. */
      const presentResponse = (answered: AnsweredRequest, path: string, routes: Site["routes"]) =>
        answered.response.status < 400
          ? Effect.succeed(present(answered, Option.none()))
          : Effect.map(currentTraceId, (traceId) =>
              wrapErrorBody(
                present(answered, traceId),
                findErrorMembers(routes, path),
                traceId,
                options.reshapeErrors?.(path)
              )
            )

      return <E, R>(router: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>) =>
        Effect.gen(function* () {
          const startedAt = yield* Clock.currentTimeNanos
          const request = yield* HttpServerRequest.HttpServerRequest
          const path = pathOf(request.url)
          const site = instanceTable === undefined ? Option.none() : findInstanceSite(request.headers["host"], settings)
          const host =
            instanceTable !== undefined && Option.isSome(site)
              ? { routes: instanceTable, origin: site.value.origin }
              : webApi
          const route = findRoute(host.routes, request.method, path)
          const requestId = acceptRequestId(request.headers["x-request-id"]) ?? (yield* ids.next("req"))
          const caller = { ...(yield* findCaller(request)), requestId: Option.some(requestId) }
          yield* redactQuery(request)
          // Each request has its own fiber, so these are set without being restored.
          yield* FiberRef.set(
            FiberRef.currentContext,
            yield* makeRequestContext(request, makeServices(caller, route, site))
          )
          yield* FiberRef.update(FiberRef.currentLogAnnotations, HashMap.set<string, unknown>("requestId", requestId))

          const refusal = refuse(request, path, route, host)
          const plain = Option.isSome(refusal)
            ? refusal.value
            : yield* applyPipeline(request, caller, path, route, withRouteNotFound(router))
          const response = yield* presentResponse({ request, route, response: plain, site }, path, host.routes)
          yield* recordRequest({ request, path, route, response, startedAt, requestId, user: yield* caller.user })
          return HttpServerResponse.setHeaders(response, {
            ...securityHeaders,
            ...transportSecurity,
            ...Option.match(route, { onNone: () => ({}), onSome: ({ headers }) => headers }),
            ...(Option.isNone(refusal) && Option.isSome(route) ? makeCrossOriginHeaders(route.value) : {}),
            // The response's own headers replace the defaults.
            ...response.headers,
            ...makeCredentialHeaders(request, response, cookie, Option.isSome(site)),
            // RFC 9110, section 15.5.16.
            ...(response.status === 415 && isCoded(request) ? { "accept-encoding": "identity" } : {}),
            ...(hasLongUnreadBody(request) ? { connection: "close" } : {}),
            "x-request-id": requestId
          })
        })
    }),
    { global: true }
  )
