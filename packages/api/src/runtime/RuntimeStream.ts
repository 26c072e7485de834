import type { ModelDelta } from "@berth/domain/ai/streams/ModelEvent"
import { Channel, Chunk, Data, Either, Option, Predicate, Schema, Stream } from "effect"
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
  | typeof ModelDelta.Type
  | { readonly type: "done" | "tool-call" | "compacted" | "opened" | "failed" | "invalid" }
  | { readonly type: "error"; readonly message: string }

const parseJson = Schema.decodeUnknownOption(Schema.parseJson())

/** Hot path: a delta, read without its schema. */
const readDelta = (json: unknown): typeof ModelDelta.Type | null =>
  Predicate.isRecord(json) && json["type"] === "delta" && Predicate.isString(json["text"])
    ? { type: "delta", text: json["text"] }
    : null

/** Parses a stream's events up to `done`; everything else fails. Works on whole chunks, without a stream stage per delta. */
export const parseRuntimeEvents = <A extends Event, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknownEither(schema)
  type Good = Exclude<A, { readonly type: "error" }> | typeof ModelDelta.Type
  const isGood = (event: A): event is Exclude<A, { readonly type: "error" }> => event.type !== "error"

  return <E>(text: Stream.Stream<string, E>): Stream.Stream<Good, E | RuntimeStreamProblem> =>
    Stream.suspend(() => {
      let good: Array<Good> = []
      let done = false
      let problem: RuntimeStreamProblem | undefined
      const parser = makeSseParser()
      const receive = (data: string) => {
        if (done || problem !== undefined) return
        const json = Option.getOrUndefined(parseJson(data))
        const delta = readDelta(json)
        if (delta !== null) {
          good.push(delta)
          return
        }
        const decoded = decode(json)
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
