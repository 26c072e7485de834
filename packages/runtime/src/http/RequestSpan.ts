import * as Headers from "@effect/platform/Headers"
import * as HttpTraceContext from "@effect/platform/HttpTraceContext"
import { Clock, Context, Effect, FiberRef, Option, Tracer } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"

/** Adds the span to the fiber, which ends with its request. */
const enter = (span: Tracer.Span) =>
  FiberRef.update(FiberRef.currentContext, (context) => Context.add(context, Tracer.ParentSpan, span))

/** Handles a request in a span that continues the caller's trace. Only a recorded span gets attributes. */
export const withRequestSpan = (
  { headers, method }: IncomingMessage,
  response: ServerResponse,
  /** Path of the route. */
  route: string,
  handled: Effect.Effect<void>
): Effect.Effect<void> => {
  const { traceparent } = headers
  const parent =
    typeof traceparent === "string" ? HttpTraceContext.w3c(Headers.fromInput({ traceparent })) : Option.none()
  return Effect.flatMap(
    Effect.makeSpan(`http.server ${method}`, {
      kind: "server",
      captureStackTrace: false,
      parent: Option.getOrUndefined(parent)
    }),
    (span) => {
      const traced = Effect.zipRight(enter(span), handled)
      if (!span.sampled) return traced
      span.attribute("http.request.method", method)
      span.attribute("http.route", route)
      span.attribute("url.path", route)
      span.attribute("url.scheme", "http")
      return Effect.onExit(traced, (exit) =>
        Effect.map(Clock.currentTimeNanos, (now) => {
          span.attribute("http.response.status_code", response.statusCode)
          span.end(now, exit)
        })
      )
    }
  )
}
