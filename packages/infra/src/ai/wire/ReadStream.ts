import { Effect, Either, Option, Schema, type Scope } from "effect"
import { endAfterLast } from "./EndAfterLast.ts"
import { hearEvents } from "./EventStream.ts"
import type { Exchange } from "./Exchange.ts"
import { type Made, type Pull, through, untilEnd } from "./Pull.ts"
import type { VendorClient } from "./VendorClient.ts"
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
  readonly before?: (texts: Pull<string, WireFailure>) => Pull<string, WireFailure>
}

/** Bytes as text; what of a character has not come yet is waited for. */
const decodeText = <E>(bytes: Pull<Uint8Array, E>): Pull<string, E> => {
  const decoder = new TextDecoder()
  return through(bytes, {
    step: (pieces): Made<string, never> => ({
      values: pieces.map((piece) => decoder.decode(piece, { stream: true }))
    }),
    end: () => {
      const left = decoder.decode()
      return { values: left === "" ? [] : [left] }
    }
  })
}

/** The events of a streamed answer. */
export const readStream =
  <Chunk>({ before = (texts) => texts, isLast, read }: StreamReading<Chunk>) =>
  ({ bytes }: Exchange): Pull<WireEvent<Chunk>, WireFailure> =>
    endAfterLast(
      through(
        hearEvents(before(decodeText(bytes))),
        untilEnd((given): Made<WireEvent<Chunk>, WireFailure> => {
          const values: Array<WireEvent<Chunk>> = []
          for (const heard of given) {
            const event = heard.type === "event" ? read(heard.data) : Either.right(heard)
            if (Either.isLeft(event)) return { values, failure: event.left }
            values.push(event.right)
          }
          return { values }
        })
      ),
      isLast
    )

/** POST of a body for a streamed answer. */
export const postForStream =
  <Chunk>(
    post: VendorClient["post"],
    readAnswer: (answer: Exchange) => Effect.Effect<Pull<WireEvent<Chunk>, WireFailure>, WireFailure>
  ) =>
  (path: string, body: object): Effect.Effect<Pull<WireEvent<Chunk>, WireFailure>, WireFailure, Scope.Scope> =>
    Effect.flatMap(post(path, body), readAnswer)
