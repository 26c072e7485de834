import { encodeTypedSseEvent, sseKeepAlive, sseKeepAliveSeconds } from "@berth/api/http/Sse"
import { HttpServerResponse } from "@effect/platform"
import { Chunk, Duration, Effect, Mailbox, Schedule, Stream } from "effect"

const encoder = new TextEncoder()
const keepAlive = encoder.encode(sseKeepAlive)

/** Frames the client has not taken yet; then whoever makes them waits. */
const maximumBufferedFrames = 16

/**
 * The frames as bytes, a chunk at a time, with a comment now and then so that a silent stream is known to be alive.
 * Merging two streams would cost several fibers an element.
 */
const withKeepAlive = (frames: Stream.Stream<string>): Stream.Stream<Uint8Array> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const mailbox = yield* Mailbox.make<Uint8Array>({ capacity: maximumBufferedFrames })
      yield* Stream.runForEachChunk(frames, (chunk) =>
        Chunk.isEmpty(chunk) ? Effect.void : mailbox.offer(encoder.encode(Chunk.join(chunk, "")))
      ).pipe(Mailbox.into(mailbox), Effect.forkScoped)
      yield* mailbox
        .offer(keepAlive)
        .pipe(Effect.schedule(Schedule.spaced(Duration.seconds(sseKeepAliveSeconds))), Effect.forkScoped)
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
