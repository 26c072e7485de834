import { Headers, HttpServerRequest } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { parseTraceParent } from "@opentelemetry/core"
import { Clock, Context, Effect, Exit, FiberRef, Option, Redacted, Tracer } from "effect"
import type { ServerResponse } from "node:http"
import { withoutValues } from "./SpanRedaction.ts"

type Request = HttpServerRequest.HttpServerRequest

export interface SentHead {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

type SendingResponse = Pick<ServerResponse, "headersSent" | "statusCode">

const redactedValue = "<redacted>"

const addHeaders = (
  span: Tracer.Span,
  kind: "request" | "response",
  headers: Headers.Headers,
  redacted: ReadonlyArray<string | RegExp>
) => {
  for (const [name, value] of Object.entries(Headers.redact(headers, redacted)))
    span.attribute(`http.${kind}.header.${name}`, Redacted.isRedacted(value) ? redactedValue : value)
}

const describeRequest = (span: Tracer.Span, request: Request) => {
  span.attribute("http.request.method", request.method)
  const url = HttpServerRequest.toURL(request)
  if (Option.isSome(url)) {
    const bare = withoutValues(url.value)
    span.attribute("url.full", bare.href)
    span.attribute("url.path", bare.pathname)
    if (bare.search !== "") span.attribute("url.query", bare.search.slice(1))
    span.attribute("url.scheme", bare.protocol.slice(0, -1))
    span.attribute("server.address", bare.hostname)
    span.attribute("server.port", Number(bare.port || (bare.protocol === "https:" ? 443 : 80)))
  }
  span.attribute("network.protocol.version", NodeHttpServerRequest.toIncomingMessage(request).httpVersion)
  const userAgent = request.headers["user-agent"]
  if (userAgent !== undefined) span.attribute("user_agent.original", userAgent)
  if (Option.isSome(request.remoteAddress)) span.attribute("client.address", request.remoteAddress.value)
}

/** Reads the caller's span by W3C Trace Context; without a valid `traceparent`, the span is a root. */
const readParent = ({ traceparent }: Headers.Headers) => {
  const caller = traceparent === undefined ? null : parseTraceParent(traceparent)
  return caller === null
    ? { root: true, parent: undefined }
    : { parent: Tracer.externalSpan({ ...caller, sampled: (caller.traceFlags & 1) === 1 }) }
}

const nameSpan = ({ method }: Request) => `http.server ${method}`

const makeSpan = (request: Request) =>
  Effect.makeSpan(nameSpan(request), { kind: "server", captureStackTrace: false, ...readParent(request.headers) })

/** Hot path: `Effect.makeSpan` reads services and the time for members without a reader. */
const makePlainSpan = (request: Request) =>
  Effect.withFiberRuntime<Tracer.Span>(({ currentTracer }) =>
    Effect.succeed(
      currentTracer.span(
        nameSpan(request),
        Option.fromNullable(readParent(request.headers).parent),
        Context.empty(),
        [],
        0n,
        "server"
      )
    )
  )

/** Opens the spans of requests. Without an exporter they have no attributes and are never ended. */
export const requestSpans = (sendsSpans: boolean) => ({
  open: (request: Request): Effect.Effect<Tracer.Span> =>
    sendsSpans
      ? Effect.flatMap(makeSpan(request), (span) =>
          Effect.map(FiberRef.get(Headers.currentRedactedNames), (redacted) => {
            describeRequest(span, request)
            addHeaders(span, "request", request.headers, redacted)
            return span
          })
        )
      : makePlainSpan(request),
  /** A failed request has a status only if its head was sent. */
  close: (span: Tracer.Span, exit: Exit.Exit<SentHead, unknown>, response: SendingResponse): Effect.Effect<void> =>
    sendsSpans
      ? Effect.zipWith(FiberRef.get(Headers.currentRedactedNames), Clock.currentTimeNanos, (redacted, now) => {
          if (Exit.isSuccess(exit)) {
            span.attribute("http.response.status_code", exit.value.status)
            addHeaders(span, "response", Headers.fromInput(exit.value.headers), redacted)
          } else if (response.headersSent) span.attribute("http.response.status_code", response.statusCode)
          span.end(now, exit)
        })
      : Effect.void
})
