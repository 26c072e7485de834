import { Effect, Mailbox, Option, type Stream } from "effect"
import type { AnswerDelta, AnswerEvent } from "./AnswerEvent.ts"
import type { Message } from "../Conversation.ts"

/** An answer on its way to whoever asked, numbered as it goes. Nobody has to listen. */
export interface AnswerPublication {
  readonly publishDelta: (text: string) => Effect.Effect<void>
  /** How many pieces there were so far. */
  readonly deltaCount: Effect.Effect<number>
  readonly complete: (reply: Message) => Effect.Effect<void>
  readonly fail: (reason: string) => Effect.Effect<void>
  readonly events: Stream.Stream<AnswerEvent>
}

/** `keep` takes each piece for those who come back later. */
export const publishAnswer = (
  keep: Option.Option<(piece: AnswerDelta) => Effect.Effect<void>>
): Effect.Effect<AnswerPublication> =>
  Effect.map(Mailbox.make<AnswerEvent>(), (mailbox) => {
    let told = 0
    const last = (event: AnswerEvent) => Effect.zipRight(mailbox.offer(event), mailbox.end)
    return {
      publishDelta: (text) =>
        Effect.suspend(() => {
          told += 1
          const piece: AnswerDelta = { type: "delta", n: told, text }
          mailbox.unsafeOffer(piece)
          return Option.match(keep, { onNone: () => Effect.void, onSome: (take) => take(piece) })
        }),
      deltaCount: Effect.sync(() => told),
      complete: (reply) => Effect.suspend(() => last({ type: "done", n: told + 1, reply })),
      fail: (reason) => Effect.suspend(() => last({ type: "failed", n: told + 1, reason })),
      events: Mailbox.toStream(mailbox)
    }
  })
