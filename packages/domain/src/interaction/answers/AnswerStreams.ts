import { Context, type DateTime, type Effect } from "effect"
import type { Message, MessageId } from "../Conversation.ts"
import type { AnswerPart } from "./AnswerEvent.ts"

/** One consistent read of an answer. */
export interface AnswerSnapshot {
  /** The parts behind the given number without a gap; empty when some of them were pruned. */
  readonly deltas: ReadonlyArray<AnswerPart>
  readonly state: AnswerState
}

/**
 * `deltaCount` is null when the answering process died before it counted. `gone`: the message does not exist, for example
 * because its conversation was deleted.
 */
export type AnswerState =
  | { readonly state: "pending" | "gone" }
  | { readonly state: "answered"; readonly deltaCount: number; readonly reply: Message }
  | { readonly state: "failed"; readonly deltaCount: number | null; readonly reason: string }

/** The deltas of answers for a retention period, readable by every process. Writes are batched per process. */
export class AnswerStreams extends Context.Tag("@berth/AnswerStreams")<
  AnswerStreams,
  {
    /** Buffers a message's next deltas, in order. Hot path: no effect. */
    readonly append: (id: MessageId, deltas: ReadonlyArray<AnswerPart>) => void
    /** Returns once all buffered deltas of the answer are written. Precedes storing the answer's end. */
    readonly flush: (id: MessageId) => Effect.Effect<void>
    readonly read: (id: MessageId, after: number) => Effect.Effect<AnswerSnapshot>
    /** Deletes the deltas of ended answers whose last delta is older than `before`; returns the number of rows. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
