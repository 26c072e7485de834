import { HttpMiddleware, HttpTraceContext, type HttpServerRequest } from "@effect/platform"
import { Context, Effect, FiberRef, type Layer, Option, Tracer } from "effect"

/** A listener whose spans have no attributes, for processes without an exporter. */
export const withPlainSpans = <A, E, R>(listener: Layer.Layer<A, E, R>): Layer.Layer<A, E, R> =>
  HttpMiddleware.withTracerDisabledWhen(listener, () => true)

/** Context of a request: services and span. */
export const makeRequestContext = <Services>(
  request: HttpServerRequest.HttpServerRequest,
  services: Context.Context<Services>
): Effect.Effect<Context.Context<Services>> =>
  Effect.flatMap(FiberRef.get(FiberRef.currentContext), (context) =>
    Option.isSome(Context.getOption(context, Tracer.ParentSpan))
      ? Effect.succeed(Context.merge(context, services))
      : Effect.map(plainSpan(request), (span) => Context.merge(context, Context.add(services, Tracer.ParentSpan, span)))
  )

const plainSpan = ({ headers, method }: HttpServerRequest.HttpServerRequest) =>
  Effect.makeSpan(`http.server ${method}`, {
    kind: "server",
    captureStackTrace: false,
    ...Option.match(HttpTraceContext.fromHeaders(headers), {
      onNone: () => ({ root: true }),
      onSome: (parent) => ({ parent })
    })
  })
