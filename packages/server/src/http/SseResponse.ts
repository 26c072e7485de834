import { encodeTypedSseEvent, sseKeepAlive, sseKeepAliveSeconds } from "@berth/api/http/Sse"
import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { NodeHttpServerRequest } from "@effect/platform-node"
import { Chunk, Deferred, Duration, Effect, FiberRef, Mailbox, Option, Schedule, Stream } from "effect"
import { currentCredentialWatch } from "./CredentialWatch.ts"

const encoder = new TextEncoder()
const keepAlive = encoder.encode(sseKeepAlive)

/** A client that takes nothing for this long is disconnected. */
const readTimeout = Duration.seconds(60)

/** Closes the connection, which ends the request like any client that leaves. */
const disconnectClient = Effect.flatMap(
  Effect.serviceOption(HttpServerRequest.HttpServerRequest),
  Option.match({
    onNone: () => Effect.void,
    onSome: (request) =>
      Effect.zipRight(
        Effect.logInfo("Client disconnected because it stopped reading"),
        Effect.sync(() => NodeHttpServerRequest.toServerResponse(request).destroy())
      )
  })
)

/** Frames the client has not taken yet; then whoever makes them waits. */
const maximumBufferedFrames = 16

/**
 * The frames as bytes, a chunk at a time, until the credential of the request ends. Comments keep a silent stream alive.
 * Merging two streams would cost several fibers an element.
 */
const withKeepAlive = (frames: Stream.Stream<string>): Stream.Stream<Uint8Array> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const mailbox = yield* Mailbox.make<Uint8Array>({ capacity: maximumBufferedFrames })
      yield* Stream.runForEachChunk(frames, (chunk) =>
        Chunk.isEmpty(chunk) ? Effect.void : mailbox.offer(encoder.encode(Chunk.join(chunk, "")))
      ).pipe(Mailbox.into(mailbox), Effect.forkScoped)
      yield* mailbox.offer(keepAlive).pipe(
        Effect.timeoutOption(readTimeout),
        Effect.tap((taken) => (Option.isNone(taken) ? disconnectClient : Effect.void)),
        Effect.schedule(Schedule.spaced(Duration.seconds(sseKeepAliveSeconds))),
        Effect.forkScoped
      )
      const watch = yield* FiberRef.get(currentCredentialWatch)
      if (Option.isSome(watch))
        yield* Effect.forkScoped(Effect.zipRight(Effect.flatMap(watch.value, Deferred.await), mailbox.end))
      return Mailbox.toStream(mailbox)
    })
  )

/** Frames as a response. The stream cannot fail: what goes wrong after the head is an event of its own. */
export const respondFrames = (
  frames: Stream.Stream<string>,
  headers: Readonly<Record<string, string>> = {}
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(withKeepAlive(frames), {
    contentType: "text/event-stream",
    headers: { "cache-control": "no-cache", "x-accel-buffering": "no", ...headers }
  })

/** Events that carry their name as `type`, as a response. */
export const respondEvents = (
  events: Stream.Stream<{ readonly type: string }>
): HttpServerResponse.HttpServerResponse =>
  respondFrames(
    Stream.mapChunks(events, (chunk) => Chunk.of(Chunk.toReadonlyArray(chunk).map(encodeTypedSseEvent).join("")))
  )

/** Whether the client wants the answer as it comes. */
export const acceptsEventStream = (accept: string | undefined): boolean =>
  accept?.includes("text/event-stream") === true
