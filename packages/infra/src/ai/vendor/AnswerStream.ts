import { Effect, Either, Option, Schema, type Scope } from "effect"
import { endAfterLast } from "./StreamEnd.ts"
import { parseSseEvents } from "./SseParser.ts"
import type { HttpExchange } from "./HttpExchange.ts"
import { type StageOutput, type ChunkSource, applyStage, makeStage } from "./ChunkStage.ts"
import type { VendorClient } from "./VendorClient.ts"
import type { VendorEvent } from "./VendorEvent.ts"
import { VendorAnswerMalformed, type VendorFailure } from "./VendorErrors.ts"

/** Reads the data of an event by its schema; what that does not know is nonsense. */
export const makeEventDecoder = <A, Chunk>(
  schema: Schema.Schema<A, string>,
  toEvent: (event: A) => Either.Either<VendorEvent<Chunk>, VendorFailure>
) => {
  const decode = Schema.decodeUnknownOption(schema)
  return (data: string): Either.Either<VendorEvent<Chunk>, VendorFailure> =>
    Option.match(decode(data), {
      onNone: () => Either.left(new VendorAnswerMalformed({ reason: "an event that cannot be read" })),
      onSome: toEvent
    })
}

export interface AnswerStreamFormat<Chunk> {
  /** The data of an event. */
  readonly read: (data: string) => Either.Either<VendorEvent<Chunk>, VendorFailure>
  /** Whether nothing of the answer comes after this. */
  readonly isLast: (event: VendorEvent<Chunk>) => boolean
  /** What the texts of the answer go through before they are read as events. */
  readonly before?: (texts: ChunkSource<string, VendorFailure>) => ChunkSource<string, VendorFailure>
}

/** Bytes as text; what of a character has not come yet is waited for. */
const decodeText = <E>(bytes: ChunkSource<Uint8Array, E>): ChunkSource<string, E> => {
  const decoder = new TextDecoder()
  return applyStage(bytes, {
    step: (pieces): StageOutput<string, never> => ({
      values: pieces.map((piece) => decoder.decode(piece, { stream: true }))
    }),
    end: () => {
      const left = decoder.decode()
      return { values: left === "" ? [] : [left] }
    }
  })
}

/** The events of a streamed answer. */
export const readAnswerStream =
  <Chunk>({ before = (texts) => texts, isLast, read }: AnswerStreamFormat<Chunk>) =>
  ({ bytes }: HttpExchange): ChunkSource<VendorEvent<Chunk>, VendorFailure> =>
    endAfterLast(
      applyStage(
        parseSseEvents(before(decodeText(bytes))),
        makeStage((given): StageOutput<VendorEvent<Chunk>, VendorFailure> => {
          const values: Array<VendorEvent<Chunk>> = []
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
    readAnswer: (answer: HttpExchange) => Effect.Effect<ChunkSource<VendorEvent<Chunk>, VendorFailure>, VendorFailure>
  ) =>
  (
    path: string,
    body: object
  ): Effect.Effect<ChunkSource<VendorEvent<Chunk>, VendorFailure>, VendorFailure, Scope.Scope> =>
    Effect.flatMap(post(path, body), readAnswer)
