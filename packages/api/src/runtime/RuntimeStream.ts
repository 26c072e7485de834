import type { ModelDelta } from "@berth/domain/ai/streams/ModelEvent"
import { makeChunkSource } from "@berth/domain/ai/streams/ChunkSource"
import { makeIdleTimeouts } from "@berth/domain/ai/streams/IdleTimeout"
import { Channel, Chunk, Clock, Data, Duration, Effect, Either, Option, Predicate, Schema, Stream } from "effect"
import { makeSseParser } from "../http/Sse.ts"

/** Why a runtime stream did not reach `done`. */
export type RuntimeStreamProblem = Data.TaggedEnum<{
  Truncated: {}
  /** An event outside the contract. */
  Malformed: {}
  /** An event or the text of all deltas exceeds its limit. */
  Oversized: {}
  /** The other side sent an `error` event. */
  Failed: { readonly message: string }
}>
export const RuntimeStreamProblem = Data.taggedEnum<RuntimeStreamProblem>()

type Event =
  | ModelDelta
  | { readonly type: "done" | "tool-call" | "compacted" | "opened" | "failed" | "invalid" }
  | { readonly type: "error"; readonly message: string }

/** Characters of one event, and of the text of all deltas. */
export interface RuntimeStreamLimits {
  readonly event: number
  readonly text: number
}

const mebibyte = 1024 * 1024
/** `done` carries a whole reply, so the parser admits it; any other event is smaller. */
const maximumReplyEvent = 4 * mebibyte
export const runtimeStreamLimits: RuntimeStreamLimits = { event: mebibyte, text: 4 * mebibyte }

const parseJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** Hot path: a delta, read without its schema. */
const readDelta = (json: unknown): ModelDelta | null =>
  Predicate.isRecord(json) && json["type"] === "delta" && Predicate.isString(json["text"])
    ? { type: "delta", text: json["text"] }
    : null

/** Parses a stream's events up to `done`; everything else fails. Works on whole chunks, without a stream stage per delta. */
export const parseRuntimeEvents = <A extends Event, I>(
  schema: Schema.Schema<A, I>,
  limits: RuntimeStreamLimits = runtimeStreamLimits
) => {
  const decode = Schema.decodeUnknownEither(schema)
  type Good = Exclude<A, { readonly type: "error" }> | ModelDelta
  const isGood = (event: A): event is Exclude<A, { readonly type: "error" }> => event.type !== "error"

  return <E>(text: Stream.Stream<string, E>): Stream.Stream<Good, E | RuntimeStreamProblem> =>
    Stream.suspend(() => {
      let good: Array<Good> = []
      let done = false
      let textLength = 0
      let problem: RuntimeStreamProblem | undefined
      const parser = makeSseParser(maximumReplyEvent)
      const receive = (data: string) => {
        if (done || problem !== undefined) return
        const json = Option.getOrUndefined(parseJson(data))
        const delta = readDelta(json)
        if (delta !== null) {
          textLength += delta.text.length
          if (data.length > limits.event || textLength > limits.text) problem = RuntimeStreamProblem.Oversized()
          else good.push(delta)
          return
        }
        const decoded = decode(json)
        if (Either.isLeft(decoded)) problem = RuntimeStreamProblem.Malformed()
        else if (decoded.right.type !== "done" && data.length > limits.event) problem = RuntimeStreamProblem.Oversized()
        else if (isGood(decoded.right)) {
          good.push(decoded.right)
          done = decoded.right.type === "done"
        } else problem = RuntimeStreamProblem.Failed({ message: messageOf(decoded.right) })
      }
      const take = (texts: Chunk.Chunk<string>): Chunk.Chunk<Good> => {
        good = []
        for (const piece of texts) for (const { data } of parser.push(piece)) receive(data)
        if (parser.hasOverflowed()) problem ??= RuntimeStreamProblem.Oversized()
        return Chunk.unsafeFromArray(good)
      }
      const read: Channel.Channel<
        Chunk.Chunk<Good>,
        Chunk.Chunk<string>,
        E | RuntimeStreamProblem,
        E,
        void,
        unknown
      > = Channel.readWith({
        onInput: (texts: Chunk.Chunk<string>) =>
          Channel.flatMap(Channel.write(take(texts)), () =>
            problem !== undefined ? Channel.fail(problem) : done ? Channel.void : read
          ),
        onFailure: (error: E) => Channel.fail(error),
        onDone: () => Channel.fail(RuntimeStreamProblem.Truncated())
      })
      return Stream.pipeThroughChannel(text, read)
    })
}

export interface RuntimeStreamTimeouts<E> {
  /** Between two chunks. */
  readonly idle: Duration.DurationInput
  /** The whole stream. */
  readonly total: Duration.DurationInput
  readonly onTimeout: () => E
}

/** Fails a stream that stops sending or does not end. Hot path: a timer per wait, where `Stream.timeoutFail` forks a fiber. */
export const limitStreamTime =
  <E2>({ idle, onTimeout, total }: RuntimeStreamTimeouts<E2>) =>
  <A, E>(stream: Stream.Stream<A, E>): Stream.Stream<A, E | E2> =>
    Stream.unwrapScoped(
      Effect.gen(function* () {
        const source = yield* makeChunkSource(stream)
        const next = Duration.decode(idle)
        const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(total)
        const { start } = yield* makeIdleTimeouts
        const timeout = yield* start({ first: next, next, deadline, onTimeout })
        const awaitMore = Effect.mapError(timeout.awaitMore(source), Option.some)
        const pull: Effect.Effect<Chunk.Chunk<A>, Option.Option<E | E2>> = Effect.suspend(() => {
          const batch = source.poll()
          if (batch === null) return Effect.flatMap(awaitMore, () => pull)
          if (batch.values.length > 0) return Effect.succeed(Chunk.unsafeFromArray(batch.values))
          return batch.isDone ? Effect.fail(Option.fromNullable(batch.failure)) : pull
        })
        return Stream.fromPull(Effect.succeed(pull))
      })
    )

const messageOf = (event: Event): string => (event.type === "error" ? event.message : "")
