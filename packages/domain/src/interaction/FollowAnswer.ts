import { Chunk, Duration, Effect, Option, Stream } from "effect"
import type { AnswerDelta } from "./AnswerEvent.ts"
import type { AnswerSoFar } from "./AnswerStreams.ts"

/** A piece of an answer, or how it ended. */
export type AnswerPart =
  | AnswerDelta
  | { readonly type: "answered"; readonly n: number }
  | { readonly type: "failed"; readonly n: number; readonly reason: string }

export interface AnswerStep {
  readonly parts: ReadonlyArray<AnswerPart>
  /** Number of the last event that is known now. */
  readonly after: number
  readonly isOver: boolean
}

/** What a look at an answer tells who knows its events up to `after`. */
export const stepOf = ({ end, pieces }: AnswerSoFar, after: number): AnswerStep => {
  const known = pieces.at(-1)?.n ?? after
  const over = (last: (n: number) => AnswerPart, told: number | null): AnswerStep => {
    // Whoever knows more than there were pieces has heard the end.
    if (told !== null && known > told) return { parts: pieces, after: known, isOver: true }
    const n = Math.max(known, told ?? 0) + 1
    return { parts: [...pieces, last(n)], after: n, isOver: true }
  }
  switch (end.state) {
    case "pending":
      return { parts: pieces, after: known, isOver: false }
    case "answered":
      return over((n) => ({ type: "answered", n }), end.told)
    case "failed":
      return over((n) => ({ type: "failed", n, reason: end.reason }), end.told)
    case "gone":
      return over((n) => ({ type: "failed", n, reason: "the message was deleted" }), null)
  }
}

/** Who follows looks again soon while there is news, and less often the longer there is none. */
export const pauseAfter = (looksWithoutNews: number): Duration.Duration =>
  Duration.min(Duration.millis(50 * 2 ** Math.min(looksWithoutNews, 10)), Duration.millis(500))

/** The rest of an answer, from another look to another, until it ends. */
export const followAnswer = (
  read: (after: number) => Effect.Effect<AnswerSoFar>,
  from: number
): Stream.Stream<AnswerPart> =>
  Stream.paginateChunkEffect({ after: from, looks: 0, idle: 0 }, ({ after, idle, looks }) =>
    Effect.map(looks === 0 ? read(after) : Effect.delay(read(after), pauseAfter(idle)), (seen) => {
      const step = stepOf(seen, after)
      const next = { after: step.after, looks: looks + 1, idle: step.parts.length > 0 ? 0 : idle + 1 }
      return [Chunk.fromIterable(step.parts), step.isOver ? Option.none() : Option.some(next)]
    })
  )
