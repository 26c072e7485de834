import { Channel, Chunk, Data, Either, Schema, Stream } from "effect"
import { makeSseParser } from "../http/Sse.ts"

/** Why a runtime stream did not reach `done`. */
export type RuntimeStreamProblem = Data.TaggedEnum<{
  Truncated: {}
  /** An event outside the contract. */
  Malformed: {}
  /** The other side sent an `error` event. */
  Failed: { readonly message: string }
}>
export const RuntimeStreamProblem = Data.taggedEnum<RuntimeStreamProblem>()

type Event =
  | { readonly type: "delta" | "done" | "tool-call" | "compacted" | "opened" | "failed" | "invalid" }
  | { readonly type: "error"; readonly message: string }

/**
 * Parses a stream's events up to `done`; everything else fails. Works on whole chunks: a stream stage per delta
 * costs more than parsing it.
 */
export const parseRuntimeEvents = <A extends Event, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeEither(Schema.parseJson(schema))
  type Good = Exclude<A, { readonly type: "error" }>
  const isGood = (event: A): event is Good => event.type !== "error"

  return <E>(text: Stream.Stream<string, E>): Stream.Stream<Good, E | RuntimeStreamProblem> =>
    Stream.suspend(() => {
      let good: Array<Good> = []
      let done = false
      let problem: RuntimeStreamProblem | undefined
      const parser = makeSseParser()
      const receive = (data: string) => {
        if (done || problem !== undefined) return
        const decoded = decode(data)
        if (Either.isLeft(decoded)) problem = RuntimeStreamProblem.Malformed()
        else if (isGood(decoded.right)) {
          good.push(decoded.right)
          done = decoded.right.type === "done"
        } else problem = RuntimeStreamProblem.Failed({ message: messageOf(decoded.right) })
      }
      const take = (texts: Chunk.Chunk<string>): Chunk.Chunk<Good> => {
        good = []
        for (const piece of texts) for (const { data } of parser.push(piece)) receive(data)
        if (parser.hasOverflowed()) problem ??= RuntimeStreamProblem.Malformed()
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

const messageOf = (event: Event): string => (event.type === "error" ? event.message : "")
