import type { ModelDelta } from "@berth/domain/ai/streams/ModelEvent"
import {
  type ChunkBatch,
  type ChunkSource,
  makeChunkSource,
  streamFromSource
} from "@berth/domain/ai/streams/ChunkSource"
import { type IdleTimeouts, makeIdleTimeouts } from "@berth/domain/ai/streams/IdleTimeout"
import { Clock, Data, Duration, Effect, Either, Option, Predicate, Schema, Scope, Stream } from "effect"
import { makeSseParser } from "../http/Sse.ts"

/** Reason for which a runtime stream did not reach `done`. */
export type RuntimeStreamProblem = Data.TaggedEnum<{
  Truncated: {}
  /** An event violates the contract. */
  Malformed: {}
  /** An event, the text of all deltas or the data of all events exceeds its limit. */
  Oversized: {}
  /** The peer sent an `error` event. */
  Failed: { readonly message: string }
}>
export const RuntimeStreamProblem = Data.taggedEnum<RuntimeStreamProblem>()

type Event =
  | ModelDelta
  | { readonly type: "done" | "tool" | "tool-call" | "compacted" | "opened" | "failed" | "invalid" }
  | { readonly type: "error"; readonly message: string }

/** Maximum characters of an event, of the text of all deltas, and of the data of all events before `done`. */
interface RuntimeStreamLimits {
  readonly event: number
  readonly text: number
  readonly data: number
}

const mebibyte = 1024 * 1024
/** `done` contains a complete reply, so the parser accepts this size; other events are smaller. */
const maximumReplyEvent = 4 * mebibyte
const runtimeStreamLimits: RuntimeStreamLimits = { event: mebibyte, text: 4 * mebibyte, data: 16 * mebibyte }

const parseJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** Hot path: reads a delta without its schema. */
const readDelta = (json: unknown): ModelDelta | null =>
  Predicate.isRecord(json) && json["type"] === "delta" && Predicate.isString(json["text"])
    ? { type: "delta", text: json["text"] }
    : null

interface RuntimeStreamTimeouts<E> {
  /** Maximum time between two chunks of bytes; keep-alive comments count. */
  readonly idle: Duration.DurationInput
  /** Maximum time of the whole stream. */
  readonly total: Duration.DurationInput
  readonly onTimeout: () => E
  /** Idle timeouts shared with other streams. Default: timers of this stream only. */
  readonly timers?: Effect.Effect<IdleTimeouts, never, Scope.Scope>
}

type Good<A extends Event> = Exclude<A, { readonly type: "error" }> | ModelDelta

/** Events until `done`. */
export type RuntimeSource<A extends Event, E> = ChunkSource<Good<A>, E | RuntimeStreamProblem>

/** Parses bytes into events until `done`; everything else is a problem. */
const makeEventParser = <A extends Event, I>(schema: Schema.Schema<A, I>, limits: RuntimeStreamLimits) => {
  const decode = Schema.decodeUnknownEither(schema)
  const isGood = (event: A): event is Exclude<A, { readonly type: "error" }> => event.type !== "error"
  const decoder = new TextDecoder()
  const parser = makeSseParser(maximumReplyEvent)
  let textLength = 0
  let dataLength = 0
  let isDone = false
  let problem: RuntimeStreamProblem | undefined

  const readData = (data: string, good: Array<Good<A>>) => {
    if (isDone || problem !== undefined) return
    // Deltas can be empty, so the text alone does not bound their number.
    dataLength += data.length
    const isOversized = data.length > limits.event || dataLength > limits.data
    const json = Option.getOrUndefined(parseJson(data))
    const delta = readDelta(json)
    if (delta !== null) {
      textLength += delta.text.length
      if (isOversized || textLength > limits.text) problem = RuntimeStreamProblem.Oversized()
      else good.push(delta)
      return
    }
    const decoded = decode(json)
    if (Either.isLeft(decoded)) problem = RuntimeStreamProblem.Malformed()
    else if (decoded.right.type !== "done" && isOversized) problem = RuntimeStreamProblem.Oversized()
    else if (isGood(decoded.right)) {
      good.push(decoded.right)
      isDone = decoded.right.type === "done"
    } else problem = RuntimeStreamProblem.Failed({ message: messageOf(decoded.right) })
  }

  return {
    push: (bytes: ReadonlyArray<Uint8Array>): ReadonlyArray<Good<A>> => {
      const good: Array<Good<A>> = []
      for (const chunk of bytes)
        for (const { data } of parser.push(decoder.decode(chunk, { stream: true }))) readData(data, good)
      if (parser.hasOverflowed()) problem ??= RuntimeStreamProblem.Oversized()
      return good
    },
    isDone: () => isDone,
    problem: () => problem
  }
}

/** Hot path: reads a source's events until `done`; fails for any other event, for a timeout, and for a missing end. */
export const readRuntimeSource = <A extends Event, I, E2>(
  schema: Schema.Schema<A, I>,
  { idle, onTimeout, timers = makeIdleTimeouts, total }: RuntimeStreamTimeouts<E2>,
  limits: RuntimeStreamLimits = runtimeStreamLimits
) =>
  Effect.fnUntraced(function* <E>(
    bytes: ChunkSource<Uint8Array, E>
  ): Effect.fn.Return<RuntimeSource<A, E | E2>, never, Scope.Scope> {
    const next = Duration.decode(idle)
    const deadline = (yield* Clock.currentTimeMillis) + Duration.toMillis(total)
    const { limit } = yield* timers
    const source = limit(bytes, { first: next, next, deadline, onTimeout })
    yield* Scope.addFinalizer(yield* Effect.scope, Effect.sync(source.end))
    const parser = makeEventParser(schema, limits)
    let end: ChunkBatch<Good<A>, E | E2 | RuntimeStreamProblem> | null = null
    const poll = () => {
      while (end === null) {
        const batch = source.poll()
        if (batch === null) return null
        const values = parser.push(batch.values)
        const cut = batch.isDone ? (batch.failure ?? RuntimeStreamProblem.Truncated()) : undefined
        const failure = parser.isDone() ? undefined : (parser.problem() ?? cut)
        const isDone = parser.isDone() || failure !== undefined
        if (isDone) end = { values: [], isDone, failure }
        if (isDone || values.length > 0) return { values, isDone, failure }
      }
      return end
    }
    return { ...source, poll }
  })

/** As `readRuntimeSource`, for a stream. */
export const readRuntimeEvents =
  <A extends Event, I, E2>(...of: Parameters<typeof readRuntimeSource<A, I, E2>>) =>
  <E>(bytes: Stream.Stream<Uint8Array, E>): Stream.Stream<Good<A>, E | E2 | RuntimeStreamProblem> =>
    Stream.unwrapScoped(Effect.map(Effect.flatMap(makeChunkSource(bytes), readRuntimeSource(...of)), streamFromSource))

const messageOf = (event: Event): string => (event.type === "error" ? event.message : "")
