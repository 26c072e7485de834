import { acquireScoped } from "@berth/domain/shared/AcquireScoped"
import { scopedDirectly } from "@berth/domain/shared/HotPath"
import { encodeTypedSseEvent, sseKeepAlive, sseKeepAliveSeconds } from "@berth/api/http/Sse"
import type { ChunkReader } from "@berth/domain/ai/streams/ChunkReader"
import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { absurd, Context, Duration, Effect, FiberId, FiberRef, identity, Metric, Option, type Scope } from "effect"
import type { ServerResponse } from "node:http"
import { parseAcceptedRanges } from "./AcceptedRanges.ts"
import { currentCredentialWatch, type WatchCredential } from "./CredentialWatch.ts"
import { awaitDrain, makeSelfWritingStream } from "./ResponseWriter.ts"
import { currentGap, unspacedWrites } from "./WritePace.ts"

const openStreams = Metric.gauge("berth_streams_open", { description: "Open streams of server-sent events" })

const keepAliveInterval = Duration.seconds(sseKeepAliveSeconds)

/** Number of intervals without progress after which a client is disconnected. */
const maximumStalledIntervals = 4

const currentResponse = Effect.withFiberRuntime<ServerResponse>(({ currentContext }) =>
  Option.match(Context.getOption(currentContext, HttpServerRequest.HttpServerRequest), {
    onNone: () => Effect.dieMessage("The stream has no request"),
    onSome: (request) => Effect.succeed(NodeHttpServerRequest.toServerResponse(request))
  })
)

/** Sends the response head, which otherwise waits for the first event. */
export const sendHead = Effect.map(currentResponse, (response) => response.flushHeaders())

/** A response, and a count of its accepted writes. */
interface FrameSink {
  readonly response: ServerResponse
  writes: number
}

/**
 * Comments keep a silent stream alive. A stalled client's connection is closed, which ends the request. A timer, since a
 * fiber for each stream would take a tenth of the time of a short answer.
 */
const keepAlive = (sink: FrameSink) => {
  const { response } = sink
  let stalled = 0
  let writes = 0
  const timer = setInterval(() => {
    if (response.destroyed) return
    if (!response.writableNeedDrain) response.write(sseKeepAlive)
    stalled = response.writableNeedDrain && sink.writes === writes ? stalled + 1 : 0
    writes = sink.writes
    if (stalled === maximumStalledIntervals) response.destroy()
  }, Duration.toMillis(keepAliveInterval))
  return Effect.suspend(() => {
    clearInterval(timer)
    return stalled < maximumStalledIntervals
      ? Effect.void
      : Effect.logInfo("Client disconnected because it stopped reading")
  })
}

/** Counts an open stream and keeps it alive until the scope closes. */
const openStream = (sink: FrameSink) =>
  acquireScoped(
    Effect.sync(() => {
      openStreams.unsafeModify(1, [])
      return keepAlive(sink)
    }),
    (end) =>
      Effect.zipRight(
        Effect.sync(() => openStreams.unsafeModify(-1, [])),
        end
      )
  )

/** Hot path: writes available events immediately, in the fiber of the request. */
const writeEvents = <A, E>(
  { encode, toLast }: EventFormat<A, E>,
  read: ChunkReader<A, E>,
  sink: FrameSink
): Effect.Effect<void> => {
  const { response } = sink
  const next: Effect.Effect<void, E> = Effect.flatMap(read, (events) => {
    if (events === null) return Effect.void
    let text = ""
    for (const event of events) text += encode(event)
    if (text === "") return next
    sink.writes += 1
    if (!response.write(text)) return Effect.zipRight(awaitDrain(response), next)
    const gap = sink.writes > unspacedWrites ? currentGap() : 0
    // Deltas that arrive during the pause are read together.
    return gap === 0 ? next : Effect.flatMap(Effect.sleep(Duration.millis(gap)), () => next)
  })
  return Effect.catchAll(next, (failure) => Effect.map(toLast(failure), (last) => void response.write(encode(last))))
}

/** Interrupts the request, whose fiber does nothing after its response. */
const interruptAtEnd = (watch: WatchCredential) =>
  Effect.withFiberRuntime<unknown, never, Scope.Scope>((fiber) =>
    watch(() => fiber.unsafeInterruptAsFork(FiberId.none))
  )

const sendWithScope = Effect.fnUntraced(function* <A, E>(events: EventSource<A, E>, format: EventFormat<A, E>) {
  const sink: FrameSink = { response: yield* currentResponse, writes: 0 }
  yield* openStream(sink)
  const written = writeEvents(format, yield* events, sink)
  const watch = yield* FiberRef.get(currentCredentialWatch)
  if (Option.isSome(watch)) yield* interruptAtEnd(watch.value)
  yield* written
})

/** Sends events until they end. The end of the request's credential interrupts the response. */
const sendEvents = <A, E>(events: EventSource<A, E>, format: EventFormat<A, E>): Effect.Effect<void> =>
  scopedDirectly(sendWithScope(events, format))

type EventSource<A, E = never> = Effect.Effect<ChunkReader<A, E>, never, Scope.Scope>
export type FrameSource = EventSource<string>

/** An error after the response head becomes the last event. */
interface EventFormat<A, E = never> {
  readonly encode: (event: A) => string
  readonly toLast: (failure: E) => Effect.Effect<A>
}

export const respondEncoded = <A, E = never>(
  events: EventSource<A, E>,
  format: EventFormat<A, E>,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(makeSelfWritingStream(sendEvents(events, format)), {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-cache", "x-accel-buffering": "no", ...headers }
  })

export const respondFrames = (frames: FrameSource, headers?: Readonly<Record<string, string>>) =>
  respondEncoded(frames, { encode: identity, toLast: absurd }, headers)

/** Responds with events that have their name in `type`. */
export const respondEvents = <A extends { readonly type: string }, E = never>(
  events: EventSource<A, E>,
  toLast: EventFormat<A, E>["toLast"]
) => respondEncoded(events, { encode: encodeTypedSseEvent, toLast })

/** Whether the client accepts an event stream by RFC 9110, section 12.5.1; at equal weights, events win. */
export const acceptsEventStream = (accept: string | undefined): boolean => {
  if (accept === undefined || !/text\/event-stream/i.test(accept)) return false
  const weights = parseAcceptedRanges(accept)
  const weight = weights.get("text/event-stream") ?? 0
  return weight > 0 && weight >= (weights.get("application/json") ?? 0)
}
