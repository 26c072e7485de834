import { Chunk, Effect, Mailbox } from "effect"
import type { ChunkReader } from "../../ai/streams/ChunkReader.ts"
import type { Message } from "../Conversation.ts"
import type { AnswerDelta, AnswerEvent } from "./AnswerEvent.ts"

/** Publishes the events of an answer, numbered. Events without a reader are discarded with the mailbox. */
export interface AnswerPublication {
  /** Returns the numbered deltas. */
  readonly publish: (texts: ReadonlyArray<string>) => ReadonlyArray<AnswerDelta>
  readonly deltaCount: () => number
  readonly complete: (reply: Message) => Effect.Effect<void>
  readonly fail: (reason: string) => Effect.Effect<void>
  readonly events: ChunkReader<AnswerEvent>
}

export const makeAnswerPublication: Effect.Effect<AnswerPublication> = Effect.map(
  Mailbox.make<AnswerEvent>(),
  (mailbox) => {
    let count = 0
    const end = (event: AnswerEvent) => Effect.zipRight(mailbox.offer(event), mailbox.end)
    return {
      publish: (texts) => {
        const deltas = texts.map((text): AnswerDelta => ({ type: "delta", n: (count += 1), text }))
        mailbox.unsafeOfferAll(deltas)
        return deltas
      },
      deltaCount: () => count,
      complete: (reply) => Effect.suspend(() => end({ type: "done", n: count + 1, reply })),
      fail: (reason) => Effect.suspend(() => end({ type: "failed", n: count + 1, reason })),
      events: Effect.map(mailbox.takeAll, ([events, isDone]) =>
        isDone && Chunk.isEmpty(events) ? null : Chunk.toReadonlyArray(events)
      )
    }
  }
)
