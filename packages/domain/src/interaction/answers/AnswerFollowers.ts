import { Chunk, Deferred, Effect, PubSub, RcMap, Ref, Stream } from "effect"
import type { MessageId } from "../Conversation.ts"
import { type AnswerEvent, isAnswerEnd } from "./AnswerEvent.ts"
import { computeAnswerStep, followAnswer } from "./AnswerReplay.ts"
import type { AnswerStreams } from "./AnswerStreams.ts"

/** Reads each followed answer once per process for all of its readers. */
interface AnswerFollowers {
  /** Returns the events after `after`, including the end. */
  readonly follow: (id: MessageId, after: number) => Stream.Stream<AnswerEvent>
}

export const makeAnswerFollowers = Effect.fnUntraced(function* ({ read }: Pick<AnswerStreams["Type"], "read">) {
  const followers = yield* RcMap.make({
    lookup: Effect.fnUntraced(function* (id: MessageId) {
      const events = yield* PubSub.unbounded<Chunk.Chunk<AnswerEvent>>()
      const start = yield* Deferred.make<number>()
      const isOver = yield* Ref.make(false)
      // An empty chunk ends the readers; a shutdown would drop events that they have not read.
      const end = Effect.zipRight(Ref.set(isOver, true), PubSub.publish(events, Chunk.empty()))
      yield* Deferred.await(start).pipe(
        Effect.flatMap((from) =>
          Stream.runForEachChunk(
            followAnswer((after) => read(id, after), from),
            (chunk) => (Chunk.isEmpty(chunk) ? Effect.void : PubSub.publish(events, chunk))
          )
        ),
        Effect.ensuring(end),
        Effect.interruptible,
        Effect.forkScoped
      )
      return { events, isOver, start }
    })
  })

  const follow = (id: MessageId, after: number) =>
    Stream.unwrapScoped(
      Effect.gen(function* () {
        const { events, isOver, start } = yield* RcMap.get(followers, id)
        // The subscription precedes the read, so no event is missed between them.
        const queue = yield* PubSub.subscribe(events)
        const hasEnded = yield* Ref.get(isOver)
        const step = computeAnswerStep(yield* read(id, after), after)
        const known = Stream.fromIterable(step.events)
        if (step.isDone || hasEnded) return known
        // Without events the position can be after events that are not stored yet, which other readers need.
        yield* Deferred.succeed(start, step.events.length > 0 ? step.after : 0)
        const rest = Stream.fromQueue(queue).pipe(
          Stream.takeWhile(Chunk.isNonEmpty),
          Stream.map(Chunk.filter(({ n }) => n > step.after)),
          Stream.flattenChunks,
          Stream.takeUntil(isAnswerEnd)
        )
        return Stream.concat(known, rest)
      })
    )

  return { follow } satisfies AnswerFollowers
})
