import { Chunk, Deferred, Effect, PubSub, RcMap, Stream } from "effect"
import type { MessageId } from "../Conversation.ts"
import type { AnswerEvent } from "./AnswerEvent.ts"
import { computeAnswerStep, followAnswer } from "./AnswerReplay.ts"
import type { AnswerStreams } from "./AnswerStreams.ts"

/** Reads each followed answer once per process, however many readers it has. */
export interface AnswerFollowers {
  /** The events behind `after`, up to the end. */
  readonly follow: (id: MessageId, after: number) => Stream.Stream<AnswerEvent>
}

export const makeAnswerFollowers = ({ read }: Pick<AnswerStreams["Type"], "read">) =>
  Effect.gen(function* () {
    const followers = yield* RcMap.make({
      lookup: (id: MessageId) =>
        Effect.gen(function* () {
          const events = yield* PubSub.unbounded<Chunk.Chunk<AnswerEvent>>()
          const start = yield* Deferred.make<number>()
          yield* Deferred.await(start).pipe(
            Effect.flatMap((from) =>
              Stream.runForEachChunk(
                followAnswer((after) => read(id, after), from),
                (chunk) => PubSub.publish(events, chunk)
              )
            ),
            Effect.ensuring(PubSub.shutdown(events)),
            Effect.interruptible,
            Effect.forkScoped
          )
          return { events, start }
        })
    })

    const follow = (id: MessageId, after: number) =>
      Stream.unwrapScoped(
        Effect.gen(function* () {
          const { events, start } = yield* RcMap.get(followers, id)
          // The subscription precedes the read, so no event is missed between them.
          const queue = yield* PubSub.subscribe(events)
          const step = computeAnswerStep(yield* read(id, after), after)
          const known = Stream.fromIterable(step.events)
          if (step.isDone) return known
          yield* Deferred.succeed(start, step.after)
          const rest = Stream.fromQueue(queue).pipe(
            Stream.map(Chunk.filter(({ n }) => n > step.after)),
            Stream.flattenChunks,
            Stream.takeUntil(({ type }) => type !== "delta")
          )
          return Stream.concat(known, rest)
        })
      )

    return { follow } satisfies AnswerFollowers
  })
