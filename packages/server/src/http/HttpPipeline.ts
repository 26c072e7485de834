import { BodyTooLarge, RouteNotFound, RouteNotFoundBody } from "@berth/api/http/TransportErrors"
import { RequiredScope } from "@berth/api/sessions/RequiredScope"
import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import { normalizeClientAddress } from "@berth/domain/limits/ClientAddress"
import { Caller, type CallerContext } from "@berth/domain/sessions/Caller"
import { oncePerObject } from "@berth/domain/shared/ObjectMemo"
import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import { HttpApp, HttpRouter, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { Cause, Context, Effect, Exit, FiberRef, HashMap, Option, Scope, Tracer } from "effect"
import type { ResolveCaller } from "./RequestCaller.ts"
import { makeDefectHandler } from "./DefectHandler.ts"
import { wrapErrorBody, type ReshapeError } from "./ErrorEnvelope.ts"
import { type HostRoutes, makeEarlyResponder } from "./EarlyResponse.ts"
import { makeErrorResponse } from "./ErrorResponse.ts"
import { IdempotencyMiddleware } from "./IdempotencyMiddleware.ts"
import { findInstanceSite, InstanceHost, type InstanceSite } from "./InstanceHost.ts"
import {
  expectsContinue,
  hasLongUnreadBody,
  isCoded,
  isLarge,
  isTooLarge,
  mayHaveBody,
  toBodyErrorResponse,
  setLazyContent
} from "./RequestBody.ts"
import { makeCrossOriginHeaders } from "./CrossOriginHeaders.ts"
import { type MinimumRate, readBody } from "./BodyReader.ts"
import type { BodyFailure, ListenerRequest } from "./ListenerRequest.ts"
import { acceptRequestId } from "./RequestId.ts"
import { RequestRouter } from "./RequestRouter.ts"
import { requestSpans, type SentHead } from "./RequestSpan.ts"
import { recordRequest, RequestTimer } from "./RequestTelemetry.ts"
import { writeFailure, writeResponse } from "./ResponseWriter.ts"
import { findErrorMembers, type KnownRoute, findRoute } from "./RouteTable.ts"
import { securityHeaders } from "./SecurityHeaders.ts"
import { makeCredentialHeaders } from "./ResponseHeaders.ts"
import { SessionCookie } from "./SecretCookies.ts"
import { makeUploadSlots } from "./UploadSlots.ts"
import { WebSettings } from "./WebSettings.ts"

const pathOf = (url: string) => {
  const queryStart = url.indexOf("?")
  return queryStart === -1 ? url : url.slice(0, queryStart)
}

type Response = HttpServerResponse.HttpServerResponse
type Route = Option.Option<KnownRoute>
type FoundHandler = NonNullable<ReturnType<RequestRouter["Type"]["find"]>>

const plainRouteOf = oncePerObject(({ handler, method, path }: FoundHandler["handler"]) =>
  HttpRouter.makeRoute(method, path, handler)
)

/** A class, since V8 creates an object with a computed name slowly. */
class FoundRoute implements HttpRouter.RouteContext {
  readonly [HttpRouter.RouteContextTypeId]: typeof HttpRouter.RouteContextTypeId = HttpRouter.RouteContextTypeId

  constructor(
    readonly route: HttpRouter.Route<unknown, unknown>,
    readonly params: HttpRouter.RouteContext["params"]
  ) {}
}

/** Services of a handler: the request, its route's data, and the scope of its response. */
const makeServices = ({
  caller,
  found,
  request,
  route,
  scope,
  sendsSpans,
  site,
  span
}: {
  readonly request: ListenerRequest
  readonly scope: Scope.Scope
  readonly span: Tracer.Span
  readonly caller: CallerContext
  readonly route: Route
  readonly site: Option.Option<InstanceSite>
  readonly found: FoundHandler | undefined
  readonly sendsSpans: boolean
}) => {
  // One map, since `Context.add` and `Context.mergeAll` copy all services.
  const services = new Map<string, unknown>()
  const add = <I, S>({ key }: Context.Tag<I, S>, service: NoInfer<S>) => services.set(key, service)
  add(HttpServerRequest.HttpServerRequest, request)
  add(Scope.Scope, scope)
  add(Tracer.ParentSpan, span)
  add(SpanExportEnabled, sendsSpans)
  add(Caller, caller)
  add(InstanceHost, site)
  add(RequiredScope, Option.isSome(route) ? (route.value.scope ?? null) : null)
  if (found !== undefined) {
    const { handler, params, searchParams } = found
    add(HttpServerRequest.ParsedSearchParams, searchParams)
    add(HttpRouter.RouteContext, new FoundRoute(plainRouteOf(handler), params))
  }
  return Context.unsafeMake<never>(services)
}

/** A response with its request. */
export interface AnsweredRequest {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly route: Option.Option<KnownRoute>
  readonly response: HttpServerResponse.HttpServerResponse
  readonly site: Option.Option<InstanceSite>
}

/** Adapts a response to its client, for example as a page for a browser; the trace id links it to the logs. */
export type PresentAnswer = (
  answered: AnsweredRequest,
  traceId: Option.Option<string>
) => HttpServerResponse.HttpServerResponse
const presentUnchanged: PresentAnswer = ({ response }) => response

/** Handles one request until the end of its response, with the services of the listener. */
export type Pipeline = (request: ListenerRequest) => Effect.Effect<void, never, unknown>

/**
 * Rules for every request of a listener: request id, known paths and methods, origin check, size and media type of
 * bodies, idempotency keys, JSON errors. Runs the handler in the fiber of the request.
 */
export const makeHttpPipeline = Effect.fnUntraced(function* <R, P = never>(
  table: ReadonlyArray<KnownRoute>,
  options: {
    readonly sameOrigin: boolean
    readonly bodyLimit: (path: string, request: HttpServerRequest.HttpServerRequest) => number
    /** Whether bodies over the default limit wait for slots, by client address. */
    readonly limitsUploads: boolean
    /** Converts error bodies at paths of another protocol. */
    readonly reshapeErrors?: (path: string) => ReshapeError | undefined
    readonly caller: Effect.Effect<ResolveCaller, never, R>
    /** Presentation of responses; default: unchanged. */
    readonly presentation?: Effect.Effect<PresentAnswer, never, P>
    /** Routes at instances' subdomains. Absent: the host name is ignored. */
    readonly instanceTable?: ReadonlyArray<KnownRoute>
    /** Whether spans are exported; if not, they have ids only. */
    readonly sendsSpans: boolean
  }
) {
  const settings = yield* WebSettings
  const { appUrl, uploads } = settings
  const { sendsSpans } = options
  const cookie = yield* SessionCookie
  const ids = yield* IdGenerator
  const idempotency = yield* IdempotencyMiddleware
  const router = yield* RequestRouter
  const findCaller = yield* options.caller
  const slots = options.limitsUploads ? Option.some(makeUploadSlots(uploads.perAddress)) : Option.none()
  const minimumRate: MinimumRate = { bytesPerSecond: uploads.minimumBytesPerSecond, grace: uploads.grace }
  const answerDefect = yield* makeDefectHandler
  const present = options.presentation === undefined ? presentUnchanged : yield* options.presentation

  const ownHeaders = {
    ...securityHeaders,
    ...(options.sameOrigin && appUrl.protocol === "https:" ? { "strict-transport-security": "max-age=31536000" } : {})
  }

  const handledHeadersOf = oncePerObject((route: KnownRoute): Readonly<Record<string, string>> => ({
    ...ownHeaders,
    ...route.headers,
    ...makeCrossOriginHeaders(route)
  }))

  const spans = requestSpans(sendsSpans)
  const webApi: HostRoutes = { routes: table, origin: appUrl }
  const { instanceTable } = options
  const respondEarly = makeEarlyResponder(cookie, options)

  /** Reads the body of a request; a large body holds its slots until the response is complete. */
  const readInTurn = (
    request: ListenerRequest,
    address: Option.Option<string>,
    limit: number,
    scope: Scope.Scope
  ): Effect.Effect<Buffer, BodyFailure> => {
    const { response, source } = request
    const rate = isLarge(request) ? minimumRate : undefined
    const read = expectsContinue(request)
      ? Effect.suspend(() => {
          response.writeContinue()
          return readBody(source, limit, rate)
        })
      : readBody(source, limit, rate)
    if (rate === undefined) return read
    return Option.match(slots, {
      onNone: () => read,
      onSome: ({ acquire, acquireWork }) =>
        acquire(normalizeClientAddress(Option.getOrElse(address, () => "unknown"))).pipe(
          Effect.zipRight(read),
          Effect.zipLeft(acquireWork),
          Scope.extend(scope)
        )
    })
  }

  /** Runs the handler of a request, which reads the body on demand. */
  const handle = (
    request: ListenerRequest,
    caller: CallerContext,
    path: string,
    route: Route,
    found: ReturnType<typeof findHandler>,
    scope: Scope.Scope
  ): Effect.Effect<Response, unknown, unknown> => {
    // The router can reject a path that is in the route table.
    if (found === undefined) return Effect.succeed(makeErrorResponse(RouteNotFoundBody, new RouteNotFound()))
    const { handler, uninterruptible } = found.handler
    const app = uninterruptible ? handler : Effect.interruptible(handler)
    if (!mayHaveBody(request))
      return Effect.catchAllDefect(idempotency.apply(request, route, app), answerDefect(request, caller))
    const limit = options.bodyLimit(path, request)
    if (isTooLarge(request, limit)) return Effect.succeed(toBodyErrorResponse(new BodyTooLarge({ limit })))
    setLazyContent(request, route, readInTurn(request, caller.address, limit, scope))
    const answered = idempotency.apply(request, route, app)
    return Effect.catchAllDefect(answered, answerDefect(request, caller))
  }

  const findHandler = ({ method, url }: ListenerRequest) =>
    router.find(method, url) ?? (method === "HEAD" ? router.find("GET", url) : undefined)

  /** Presents the response; adds the members of the path and the trace id to errors. */
  const presentResponse = (
    answered: AnsweredRequest,
    path: string,
    routes: HostRoutes["routes"],
    { traceId }: Tracer.Span
  ): Response => {
    if (answered.response.status < 400) return present(answered, Option.none())
    const trace = Option.some(traceId)
    const members = findErrorMembers(routes, path)
    return wrapErrorBody(present(answered, trace), members, trace, options.reshapeErrors?.(path))
  }

  const respond = Effect.fnUntraced(function* (
    request: ListenerRequest,
    scope: Scope.Scope,
    span: Tracer.Span,
    timer: RequestTimer
  ): Effect.fn.Return<SentHead, unknown, unknown> {
    const clock = yield* Effect.clock
    const startedAt = clock.unsafeCurrentTimeNanos()
    const path = pathOf(request.url)
    const site = instanceTable === undefined ? Option.none() : findInstanceSite(request.headers["host"], settings)
    const host =
      instanceTable !== undefined && Option.isSome(site) ? { routes: instanceTable, origin: site.value.origin } : webApi
    const route = findRoute(host.routes, request.method, path)
    timer.start(clock, startedAt, route)
    const requestId = acceptRequestId(request.headers["x-request-id"]) ?? (yield* ids.next("req"))
    const caller = findCaller(request, requestId)
    const early = respondEarly(request, path, route, host)
    const found = early === undefined ? findHandler(request) : undefined
    if (found !== undefined) span.attribute("http.route", found.handler.path)
    // Not restored, since the fiber ends with its request.
    yield* FiberRef.set(
      FiberRef.currentContext,
      makeServices({ request, scope, span, caller, route, site, found, sendsSpans })
    )
    yield* FiberRef.update(FiberRef.currentLogAnnotations, HashMap.set<string, unknown>("requestId", requestId))

    const plain = early ?? (yield* handle(request, caller, path, route, found, scope))
    const presented = presentResponse({ request, route, response: plain, site }, path, host.routes, span)
    yield* recordRequest({
      request,
      path,
      route,
      response: presented,
      seconds: timer.read(),
      user: yield* caller.user
    })
    const defaults = Option.isNone(route)
      ? ownHeaders
      : early === undefined
        ? handledHeadersOf(route.value)
        : { ...ownHeaders, ...route.value.headers }
    // The response's own headers replace the defaults.
    const headers: Record<string, string> = Object.assign(
      {},
      defaults,
      presented.headers,
      makeCredentialHeaders(request, presented, cookie, Option.isSome(site))
    )
    // RFC 9110, section 15.5.16.
    if (presented.status === 415 && isCoded(request)) headers["accept-encoding"] = "identity"
    if (hasLongUnreadBody(request)) headers["connection"] = "close"
    headers["x-request-id"] = requestId
    const changes = yield* FiberRef.get(HttpApp.currentPreResponseHandlers)
    const changed = Option.isSome(changes)
      ? yield* changes.value(request, HttpServerResponse.setHeaders(presented, headers))
      : presented
    const sent = Option.isSome(changes) ? changed.headers : headers
    yield* writeResponse(request, changed, sent)
    return { status: changed.status, headers: sent }
  })

  const pipeline: Pipeline = (request) =>
    Effect.flatMap(spans.open(request), (span) =>
      Effect.flatMap(Scope.make(), (scope) => {
        const timer = new RequestTimer(request)
        return Effect.matchCauseEffect(respond(request, scope, span, timer), {
          onFailure: (cause) =>
            writeFailure(request, cause).pipe(
              Effect.zipRight(
                Effect.sync(() => timer.end(request.response.statusCode, !Cause.isInterruptedOnly(cause)))
              ),
              Effect.zipRight(Scope.close(scope, Exit.failCause(cause))),
              Effect.zipRight(spans.close(span, Exit.failCause(cause), request.response))
            ),
          onSuccess: (response) => {
            timer.end(response.status, false)
            return Effect.zipRight(
              Scope.close(scope, Exit.void),
              spans.close(span, Exit.succeed(response), request.response)
            )
          }
        })
      })
    )
  return pipeline
})
