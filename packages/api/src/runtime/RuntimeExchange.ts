import { type ChunkBatch, type ChunkSource, forEachBatch, makeWakeup } from "@berth/domain/ai/streams/ChunkSource"
import type { IdleTimeouts } from "@berth/domain/ai/streams/IdleTimeout"
import { SpanExportEnabled } from "@berth/domain/shared/SpanExport"
import * as HttpTraceContext from "@effect/platform/HttpTraceContext"
import { Context, Data, type Duration, Effect, Scope, type Tracer } from "effect"
import { Agent, type IncomingMessage, request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"

/*
 * Hot path: one POST and its streamed response. The stream of an `HttpClient` takes some hundred operations per chunk.
 */

/** The connection failed before or during the response. */
export class ExchangeFailed extends Data.TaggedError("ExchangeFailed")<{
  readonly cause: unknown
  /** Whether the response head timed out. */
  readonly hasTimedOut?: boolean
}> {}

interface StreamedResponse {
  readonly status: number
  /** Body with back-pressure. */
  readonly bytes: ChunkSource<Uint8Array, ExchangeFailed>
}

interface StreamedPost {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  /** JSON. */
  readonly body: string
  /** Default: a separate connection. Ignored for https. */
  readonly agent?: Agent | undefined
  /**
   * Whether the server sends the response head before it begins the work, so that a request whose kept connection ends
   * before the head is safe to repeat.
   */
  readonly beginsAfterHead?: boolean
  /** Timeout from the request to the response head. */
  readonly headTimeout?: { readonly timers: IdleTimeouts; readonly after: Duration.Duration } | undefined
}

/**
 * Options of an agent that keeps connections between exchanges: opening one costs both sides as much as a short exchange. Idle
 * ones close two seconds before a server closes them, so that no request meets the end of its connection.
 */
export const keptConnections = { keepAlive: true, timeout: 3_000 }

/** An agent that keeps connections until the scope closes. */
export const makeKeepingAgent = Effect.acquireRelease(
  Effect.sync(() => new Agent(keptConnections)),
  (agent) => Effect.sync(() => agent.destroy())
)

/** Unread bytes above which the response is paused. */
const maximumBufferedBytes = 64 * 1024

const readBody = (response: IncomingMessage): ChunkSource<Uint8Array, ExchangeFailed> => {
  let chunks: Array<Uint8Array> = []
  let unread = 0
  let end: ChunkBatch<Uint8Array, ExchangeFailed> | null = null
  const { wait, wake } = makeWakeup(() => end !== null || chunks.length > 0)
  const finish = (cause?: unknown) => {
    end ??= { values: [], isDone: true, failure: cause === undefined ? undefined : new ExchangeFailed({ cause }) }
    wake()
  }
  response
    .on("data", (chunk: Uint8Array) => {
      chunks.push(chunk)
      unread += chunk.length
      if (unread > maximumBufferedBytes) response.pause()
      wake()
    })
    .once("end", () => finish())
    .once("error", finish)
    .once("close", () => {
      if (end === null) finish(new Error("The connection was lost"))
    })
  return {
    poll: () => {
      if (chunks.length === 0) return end
      const values = chunks
      chunks = []
      unread = 0
      if (response.isPaused()) response.resume()
      return { values, isDone: false }
    },
    awaitMore: wait,
    wake
  }
}

/** Opens a span for the exchange if spans of a recorded trace are exported; otherwise returns the current span. */
const openSpan = (url: URL): Effect.Effect<Tracer.AnySpan | undefined, never, Scope.Scope> =>
  Effect.withFiberRuntime(({ currentContext, currentSpan }) =>
    Context.get(currentContext, SpanExportEnabled) && currentSpan?.sampled !== false
      ? Effect.makeSpanScoped("http.client POST", {
          kind: "client",
          captureStackTrace: false,
          attributes: {
            "http.request.method": "POST",
            "server.address": url.hostname,
            "server.port": Number(url.port || (url.protocol === "https:" ? 443 : 80)),
            "url.full": url.href,
            "network.protocol.version": "1.1"
          }
        })
      : Effect.succeed(currentSpan)
  )

const send = ({ agent, body, headers, url }: StreamedPost, span: Tracer.AnySpan | undefined) => {
  const isSecure = url.protocol === "https:"
  return (isSecure ? requestHttps : requestHttp)(url, {
    method: "POST",
    agent: isSecure || agent === undefined ? false : agent,
    headers: Object.assign({}, span?._tag === "Span" ? HttpTraceContext.toHeaders(span) : undefined, headers, {
      accept: "text/event-stream",
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body)
    })
  })
}

/**
 * Sends a request and waits for the response head. Closing the scope ends the exchange, and its connection unless the body
 * has ended.
 */
export const postForStream = (post: StreamedPost): Effect.Effect<StreamedResponse, ExchangeFailed, Scope.Scope> =>
  Effect.flatMap(openSpan(post.url), (span) => Effect.flatMap(Effect.scope, (scope) => sendIn(scope, post, span)))

const sendIn = (
  scope: Scope.Scope,
  post: StreamedPost,
  span: Tracer.AnySpan | undefined
): Effect.Effect<StreamedResponse, ExchangeFailed> =>
  Effect.suspend(() => {
    const sent = send(post, span)
    const head = Effect.async<StreamedResponse, ExchangeFailed>((resume) => {
      const { beginsAfterHead = false, headTimeout } = post
      const cancel = headTimeout?.timers.schedule(headTimeout.after, () =>
        resume(Effect.fail(new ExchangeFailed({ cause: new Error("No response in time"), hasTimedOut: true })))
      )
      let hasHead = false
      const fail = (cause: Error) => {
        cancel?.()
        // The agent has dropped the connection, so repetitions end at a new one.
        const isRepeatable = beginsAfterHead && sent.reusedSocket
        resume(isRepeatable ? sendIn(scope, post, span) : Effect.fail(new ExchangeFailed({ cause })))
      }
      sent
        .on("error", fail)
        // The only event of a response that switches protocols.
        .once("close", () => {
          if (!hasHead) fail(new Error("The connection was lost"))
        })
        .once("response", (response) => {
          hasHead = true
          cancel?.()
          const status = response.statusCode ?? 0
          if (span?._tag === "Span" && span.kind === "client") span.attribute("http.response.status_code", status)
          resume(Effect.succeed({ status, bytes: readBody(response) }))
        })
        .end(post.body)
    })
    return Effect.zipRight(
      Scope.addFinalizer(
        scope,
        Effect.sync(() => sent.destroy())
      ),
      head
    )
  })

class BodyOversized extends Data.TaggedError("BodyOversized")<object> {}

/** Reads a complete body of at most `limit` bytes. */
export const readBodyText = <E>(
  bytes: ChunkSource<Uint8Array, E>,
  limit = maximumBufferedBytes
): Effect.Effect<string, E | BodyOversized> =>
  Effect.suspend(() => {
    const parts: Array<Uint8Array> = []
    let length = 0
    const read = forEachBatch(bytes, (values) => {
      parts.push(...values)
      for (const part of values) length += part.length
      return length > limit ? new BodyOversized() : undefined
    })
    return Effect.map(read, () => Buffer.concat(parts).toString("utf8"))
  })
