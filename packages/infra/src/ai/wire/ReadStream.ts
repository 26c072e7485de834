import { HttpClientRequest, type HttpClientResponse } from "@effect/platform"
import { Effect, Either, Option, Schema, Stream } from "effect"
import { endAfterLast } from "./EndAfterLast.ts"
import { type Heard, hearEvents } from "./EventStream.ts"
import { type Stage, throughStage } from "./Stage.ts"
import { bytesOf, type VendorClient } from "./VendorClient.ts"
import type { WireEvent } from "./WireEvent.ts"
import { AnswerIsNonsense, type WireFailure } from "./WireFailure.ts"

/** Reads the data of an event by its schema; what that does not know is nonsense. */
export const eventReader = <A, Chunk>(
  schema: Schema.Schema<A, string>,
  toEvent: (event: A) => Either.Either<WireEvent<Chunk>, WireFailure>
) => {
  const decode = Schema.decodeUnknownOption(schema)
  return (data: string): Either.Either<WireEvent<Chunk>, WireFailure> =>
    Option.match(decode(data), {
      onNone: () => Either.left(new AnswerIsNonsense({ reason: "an event that cannot be read" })),
      onSome: toEvent
    })
}

export interface StreamReading<Chunk> {
  /** The data of an event. */
  readonly read: (data: string) => Either.Either<WireEvent<Chunk>, WireFailure>
  /** Whether nothing of the answer comes after this. */
  readonly isLast: (event: WireEvent<Chunk>) => boolean
  /** What the texts of the answer go through before they are read as events. */
  readonly before?: (texts: Stream.Stream<string, WireFailure>) => Stream.Stream<string, WireFailure>
}

const readHeard = <Chunk>(read: StreamReading<Chunk>["read"]) =>
  throughStage((): Stage<Heard, WireEvent<Chunk>, WireFailure> => ({
    step: (given) => {
      const values: Array<WireEvent<Chunk>> = []
      for (const heard of given) {
        const event = heard.type === "event" ? read(heard.data) : Either.right(heard)
        if (Either.isLeft(event)) return { values, failure: event.left }
        values.push(event.right)
      }
      return { values }
    },
    end: () => ({ values: [] })
  }))

/** The events of a streamed answer. */
export const readStream = <Chunk>({ before = (texts) => texts, isLast, read }: StreamReading<Chunk>) => {
  const events = readHeard(read)
  return (response: HttpClientResponse.HttpClientResponse): Stream.Stream<WireEvent<Chunk>, WireFailure> =>
    endAfterLast(isLast)(events(hearEvents(before(Stream.decodeText(bytesOf(response))))))
}

/** POST of a body for a streamed answer. */
export const postForStream =
  <Chunk>(
    send: VendorClient["send"],
    readAnswer: (response: HttpClientResponse.HttpClientResponse) => Stream.Stream<WireEvent<Chunk>, WireFailure>
  ) =>
  (path: string, body: object, query: Readonly<Record<string, string>> = {}) =>
    HttpClientRequest.post(path).pipe(
      HttpClientRequest.setUrlParams(query),
      HttpClientRequest.accept("text/event-stream"),
      HttpClientRequest.bodyUnsafeJson(body),
      send,
      Effect.map(readAnswer),
      Stream.unwrapScoped
    )
