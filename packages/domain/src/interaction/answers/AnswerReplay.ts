import { Chunk, Duration, Effect, Option, Stream } from "effect"
import type { AnswerDelta } from "./AnswerEvent.ts"
import type { AnswerSnapshot } from "./AnswerStreams.ts"

/** A piece of an answer, or how it ended. */
export type AnswerPart =
  | AnswerDelta
  | { readonly type: "answered"; readonly n: number }
  | { readonly type: "failed"; readonly n: number; readonly reason: string }

export interface AnswerStep {
  readonly parts: ReadonlyArray<AnswerPart>
  /** Number of the last event that is known now. */
  readonly after: number
  readonly isDone: boolean
}

/** What a look at an answer tells who knows its events up to `after`. */
export const computeAnswerStep = ({ end, deltas }: AnswerSnapshot, after: number): AnswerStep => {
  const known = deltas.at(-1)?.n ?? after
  const over = (last: (n: number) => AnswerPart, told: number | null): AnswerStep => {
    // Whoever knows more than there were pieces has heard the end.
    if (told !== null && known > told) return { parts: deltas, after: known, isDone: true }
    const n = Math.max(known, told ?? 0) + 1
    return { parts: [...deltas, last(n)], after: n, isDone: true }
  }
  switch (end.state) {
    case "pending":
      return { parts: deltas, after: known, isDone: false }
    case "answered":
      return over((n) => ({ type: "answered", n }), end.deltaCount)
    case "failed":
      return over((n) => ({ type: "failed", n, reason: end.reason }), end.deltaCount)
    case "gone":
      return over((n) => ({ type: "failed", n, reason: "the message was deleted" }), null)
  }
}

/** Who follows looks again soon while there is news, and less often the longer there is none. */
export const computePollDelay = (looksWithoutNews: number): Duration.Duration =>
  Duration.min(Duration.millis(50 * 2 ** Math.min(looksWithoutNews, 10)), Duration.millis(500))

/** The rest of an answer, from another look to another, until it ends. */
export const followAnswer = (
  read: (after: number) => Effect.Effect<AnswerSnapshot>,
  from: number
): Stream.Stream<AnswerPart> =>
  Stream.paginateChunkEffect({ after: from, looks: 0, idle: 0 }, ({ after, idle, looks }) =>
    Effect.map(looks === 0 ? read(after) : Effect.delay(read(after), computePollDelay(idle)), (seen) => {
      const step = computeAnswerStep(seen, after)
      const next = { after: step.after, looks: looks + 1, idle: step.parts.length > 0 ? 0 : idle + 1 }
      return [Chunk.fromIterable(step.parts), step.isDone ? Option.none() : Option.some(next)]
    })
  )
