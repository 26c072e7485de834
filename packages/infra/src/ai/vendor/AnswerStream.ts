import { makeSseParser } from "@berth/api/http/Sse"
import { Clock, Duration, Effect, Either, Option, Schema } from "effect"
import { StringDecoder } from "node:string_decoder"
import { applyStage, type ChunkSource, makeSingleChunkSource, makeStage, type StageOutput } from "./ChunkStage.ts"
import type { HttpExchange } from "./HttpExchange.ts"
import { readMediaType, toUnexpectedMediaType } from "./VendorClient.ts"
import { VendorAnswerMalformed, type VendorFailure } from "./VendorErrors.ts"

/** Event of a streamed answer; its chunk has the vendor's format. `keep-alive`: bytes without a chunk. */
export type VendorEvent<Chunk> =
  | { readonly type: "keep-alive" }
  /** `received`: the event before it was read, which can identify the answer. */
  | { readonly type: "chunk"; readonly chunk: Chunk; readonly received?: unknown }
  | { readonly type: "done" }

export type VendorAnswer<Chunk> = ChunkSource<VendorEvent<Chunk>, VendorFailure>

const parseJson = Option.liftThrowable((text: string): unknown => JSON.parse(text))

/** Reads an event's data by its schema. Hot path: text is read without a schema, in a fifth of the time (2 of 9 µs). */
export const makeEventReader = <A, I, Chunk>(
  schema: Schema.Schema<A, I>,
  toEvent: (event: A) => Either.Either<VendorEvent<Chunk>, VendorFailure>,
  readText: (json: unknown) => Chunk | null
) => {
  const decode = Schema.decodeUnknownOption(schema)
  return (data: string): Either.Either<VendorEvent<Chunk>, VendorFailure> => {
    const json = Option.getOrUndefined(parseJson(data))
    const text = readText(json)
    if (text !== null) return Either.right({ type: "chunk", chunk: text, received: json })
    return Option.match(decode(json), {
      onNone: () => Either.left(new VendorAnswerMalformed({ reason: "malformed event" })),
      onSome: (event) =>
        Either.map(toEvent(event), (read) => (read.type === "chunk" ? { received: json, ...read } : read))
    })
  }
}

interface AnswerStreamFormat<Chunk> {
  readonly read: (data: string) => Either.Either<VendorEvent<Chunk>, VendorFailure>
  readonly isLast: (event: VendorEvent<Chunk>) => boolean
  /** Applied to the text before it is parsed. */
  readonly before?: (texts: ChunkSource<string, VendorFailure>) => ChunkSource<string, VendorFailure>
}

/** Decodes bytes as text; a character can span two chunks. */
export const decodeText = <E>(bytes: ChunkSource<Uint8Array, E>): ChunkSource<string, E> => {
  const decoder = new StringDecoder()
  return applyStage(bytes, {
    step: (chunks): StageOutput<string, never> => ({
      values: chunks.map((chunk) => decoder.write(chunk))
    }),
    end: () => {
      const rest = decoder.end()
      return { values: rest === "" ? [] : [rest] }
    }
  })
}

/** Parses server-sent events. Text without a complete event, such as a comment, is a keep-alive. */
export const parseEvents = <Chunk>(
  texts: ChunkSource<string, VendorFailure>,
  read: AnswerStreamFormat<Chunk>["read"]
): VendorAnswer<Chunk> => {
  const parser = makeSseParser()
  return applyStage(
    texts,
    makeStage((batch): StageOutput<VendorEvent<Chunk>, VendorFailure> => {
      const values: Array<VendorEvent<Chunk>> = []
      for (const text of batch) {
        const events = parser.push(text)
        if (parser.hasOverflowed())
          return { values, failure: new VendorAnswerMalformed({ reason: "event without an end" }) }
        if (events.length === 0) values.push({ type: "keep-alive" })
        for (const { data } of events) {
          const event = read(data)
          if (Either.isLeft(event)) return { values, failure: event.left }
          values.push(event.right)
        }
      }
      return { values }
    })
  )
}

/** Maximum time from the last event to the end of the body. */
const closeTimeout = Duration.millis(250)

/** Ends after the last event, but waits briefly for the end of the body, which allows the connection to be reused. */
export const endAfterLast = <A, E>(events: ChunkSource<A, E>, isLast: (event: A) => boolean): ChunkSource<A, E> => {
  /** Epoch milliseconds; null before the last event. */
  let closesAt: number | null = null
  let isClosing = false
  let isClosed = false
  const awaitClose = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    closesAt ??= now + Duration.toMillis(closeTimeout)
    const more = Effect.timeoutOption(Effect.interruptible(events.awaitMore), closesAt - now)
    return Effect.map(more, (received) => {
      isClosed = Option.isNone(received)
    })
  })
  return {
    ...events,
    poll: () => {
      const batch = events.poll()
      if (batch === null) return isClosed ? { values: [], isDone: true } : null
      isClosing ||= batch.values.some(isLast)
      // The answer is complete, so a failure of its connection is ignored.
      return isClosing && batch.failure !== undefined ? { values: batch.values, isDone: true } : batch
    },
    awaitMore: Effect.suspend(() => (isClosing ? awaitClose : events.awaitMore))
  }
}

export const readAnswerStream =
  <Chunk>({ before = (texts) => texts, isLast, read }: AnswerStreamFormat<Chunk>) =>
  (response: HttpExchange): VendorAnswer<Chunk> =>
    readMediaType(response) === "text/event-stream"
      ? endAfterLast(parseEvents(before(decodeText(response.bytes)), read), isLast)
      : makeSingleChunkSource<VendorEvent<Chunk>, VendorAnswerMalformed>([], toUnexpectedMediaType(response))
