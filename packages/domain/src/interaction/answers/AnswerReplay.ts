import { Chunk, Duration, Effect, Option, Stream } from "effect"
import { type AnswerEnd, type AnswerEvent, maximumEventNumber } from "./AnswerEvent.ts"
import type { AnswerSnapshot } from "./AnswerStreams.ts"

interface AnswerStep {
  readonly events: ReadonlyArray<AnswerEvent>
  /** Number of the last known event. */
  readonly after: number
  readonly isDone: boolean
}

/** Computes the events of a snapshot for a reader that has all events up to `after`. */
export const computeAnswerStep = ({ deltas, state }: AnswerSnapshot, after: number): AnswerStep => {
  const known = deltas.at(-1)?.n ?? after
  const end = (makeEnd: (n: number) => AnswerEnd, deltaCount: number | null): AnswerStep => {
    // Without a count the end has the maximum number, since clients can have more deltas than are stored.
    const n = deltaCount === null ? maximumEventNumber : deltaCount + 1
    // A position after the last delta means that the end was received.
    if (known >= n) return { events: deltas, after: known, isDone: true }
    return { events: [...deltas, makeEnd(n)], after: n, isDone: true }
  }
  switch (state.state) {
    case "pending":
      return { events: deltas, after: known, isDone: false }
    case "answered":
      return end((n) => ({ type: "done", n, reply: state.reply }), state.deltaCount)
    case "failed":
      return end((n) => ({ type: "failed", n, reason: state.reason }), state.deltaCount)
    case "gone":
      return end((n) => ({ type: "failed", n, reason: "the message was deleted" }), null)
  }
}

/** Returns 50 ms after a read with events, growing to 500 ms with each empty read. */
export const computePollDelay = (readsWithoutNews: number): Duration.Duration =>
  Duration.min(Duration.millis(50 * 2 ** Math.min(readsWithoutNews, 10)), Duration.millis(500))

/** Polls the rest of an answer until it ends. */
export const followAnswer = (
  read: (after: number) => Effect.Effect<AnswerSnapshot>,
  from: number
): Stream.Stream<AnswerEvent> =>
  Stream.paginateChunkEffect({ after: from, reads: 0, idle: 0 }, ({ after, idle, reads }) =>
    Effect.map(reads === 0 ? read(after) : Effect.delay(read(after), computePollDelay(idle)), (snapshot) => {
      const step = computeAnswerStep(snapshot, after)
      const next = { after: step.after, reads: reads + 1, idle: step.events.length > 0 ? 0 : idle + 1 }
      return [Chunk.fromIterable(step.events), step.isDone ? Option.none() : Option.some(next)]
    })
  )
