import { Context, type DateTime, type Effect } from "effect"
import type { Message, MessageId } from "../Conversation.ts"
import type { AnswerPart } from "./AnswerEvent.ts"

/** A consistent read of an answer. */
export interface AnswerSnapshot {
  /** Contiguous parts after the given number; empty if some of them were pruned. */
  readonly deltas: ReadonlyArray<AnswerPart>
  readonly state: AnswerState
}

/**
 * `deltaCount` is null if the answering process died before counting. `gone`: the message does not exist, for example
 * because its conversation was deleted.
 */
export type AnswerState =
  | { readonly state: "pending" | "gone" }
  | { readonly state: "answered"; readonly deltaCount: number; readonly reply: Message }
  | { readonly state: "failed"; readonly deltaCount: number | null; readonly reason: string }

/** Deltas of answers during a retention period, readable by every process. Writes are batched per process. */
export class AnswerStreams extends Context.Tag("@berth/AnswerStreams")<
  AnswerStreams,
  {
    /** Buffers the next deltas of a message, in order. Hot path: no Effect. */
    readonly append: (id: MessageId, deltas: ReadonlyArray<AnswerPart>) => void
    /** Returns after all buffered deltas of the answer are written. Required before the end of the answer is stored. */
    readonly flush: (id: MessageId) => Effect.Effect<void>
    readonly read: (id: MessageId, after: number) => Effect.Effect<AnswerSnapshot>
    /** Deletes the deltas of ended answers whose last delta is older than `before`; returns the number of rows. */
    readonly prune: (before: DateTime.Utc) => Effect.Effect<number>
  }
>() {}
