import type { ChatChunk } from "@berth/domain/ai/ModelChat"
import { Effect, type Either, Ref, Stream } from "effect"
import type { WireEvent } from "./WireEvent.ts"

export interface AnswerReading<Answer, Chunk, Failure> {
  readonly nothing: Answer
  /** An answer after one more chunk, and the text in that. */
  readonly add: (answer: Answer, chunk: Chunk) => readonly [Answer, string]
  /** What an answer ends with. */
  readonly end: (answer: Answer) => Either.Either<ChatChunk, Failure>
}

/** What is heard on a wire in the words of the AI layer. */
export const foldAnswer =
  <Answer, Chunk, Failure>({ add, end, nothing }: AnswerReading<Answer, Chunk, Failure>) =>
  <E, R>(heard: Stream.Stream<WireEvent<Chunk>, E, R>): Stream.Stream<ChatChunk, E | Failure, R> =>
    Stream.unwrap(
      Effect.map(Ref.make(nothing), (ref) =>
        heard.pipe(
          Stream.mapEffect((event) =>
            event.type === "chunk" ? Ref.modify(ref, (answer) => swap(add(answer, event.chunk))) : Effect.succeed("")
          ),
          Stream.map((text): ChatChunk => ({ type: "text", text })),
          Stream.concat(Stream.fromEffect(Effect.flatMap(Ref.get(ref), end)))
        )
      )
    )

const swap = <A, B>([a, b]: readonly [A, B]): [B, A] => [b, a]
