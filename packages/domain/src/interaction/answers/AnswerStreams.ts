import { Context, type DateTime, type Effect } from "effect"
import type { AnswerDelta } from "./AnswerEvent.ts"
import type { MessageId } from "../Conversation.ts"

/** What can be known of an answer by who comes back to it. */
export interface AnswerSnapshot {
  /** The pieces behind the asked number without a gap; empty also when some of them are not kept any more. */
  readonly deltas: ReadonlyArray<AnswerDelta>
  readonly end: AnswerEnd
}

/**
 * `told` counts the pieces there have been; null when nobody counted, because the process that told them is gone.
 * `gone`: there is no such message, say because its conversation was deleted.
 */
export type AnswerEnd =
  | { readonly state: "pending" | "gone" }
  | { readonly state: "answered"; readonly deltaCount: number }
  | { readonly state: "failed"; readonly deltaCount: number | null; readonly reason: string }

/**
 * The pieces of answers for a while, where every process can read them, so that who was cut off goes on where he was. Whoever
 * makes an answer need not wait: the pieces of all answers of a process are written together, a few times a second.
 */
export class AnswerStreams extends Context.Tag("@berth/AnswerStreams")<
  AnswerStreams,
  {
    /** Takes a message's next piece, in order, and returns at once. */
    readonly append: (id: MessageId, piece: AnswerDelta) => Effect.Effect<void>
    /** Every piece that was taken of this answer is where others can read it. Comes before the answer's end is stored. */
    readonly flush: (id: MessageId) => Effect.Effect<void>
    /** One look at an answer: everything in it is of the same moment. */
    readonly read: (id: MessageId, after: number) => Effect.Effect<AnswerSnapshot>
    /** Deletes the pieces of answers that have ended and had their last piece before `before`; answers how much there was to delete. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
