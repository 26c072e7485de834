import type { AnswerDelta } from "@berth/domain/interaction/answers/AnswerEvent"
import type { AnswerEnd, AnswerSnapshot } from "@berth/domain/interaction/answers/AnswerStreams"
import {
  type AnswerPart,
  followAnswer,
  computePollDelay,
  computeAnswerStep
} from "@berth/domain/interaction/answers/AnswerReplay"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Duration, Effect, FastCheck, Fiber, Stream, TestClock } from "effect"

const texts = FastCheck.array(FastCheck.string({ unit: "binary", maxLength: 4 }), { maxLength: 30 })
const numbered = (all: ReadonlyArray<string>): ReadonlyArray<AnswerDelta> =>
  all.map((text, index) => ({ type: "delta", n: index + 1, text }))

/** The whole answer, as its first listener hears it. */
const wholeOf = (all: ReadonlyArray<string>): ReadonlyArray<AnswerPart> => [
  ...numbered(all),
  { type: "answered", n: all.length + 1 }
]

const pending: AnswerEnd = { state: "pending" }

/** What looks show one after the other: more pieces each time, the end with the last. */
const looksAt = (all: ReadonlyArray<string>, known: ReadonlyArray<number>) => {
  let look = -1
  return (after: number) =>
    Effect.sync((): AnswerSnapshot => {
      look += 1
      const upTo = known[look] ?? all.length
      return {
        deltas: numbered(all).slice(after, upTo),
        end: look >= known.length ? { state: "answered", deltaCount: all.length } : pending
      }
    })
}

const collect = (stream: Stream.Stream<AnswerPart>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(Stream.runCollect(stream))
    yield* TestClock.adjust("1 minute")
    return Chunk.toReadonlyArray(yield* Fiber.join(fiber))
  })

describe("An answer that is followed", () => {
  it.effect.prop(
    "is, with what was heard before any cut, the whole answer, however it comes",
    [texts, FastCheck.nat(40), FastCheck.array(FastCheck.nat(30), { maxLength: 8 })],
    ([all, cut, moments]) =>
      Effect.gen(function* () {
        const whole = wholeOf(all)
        const after = Math.min(cut, whole.length)
        const known = moments.map((upTo) => Math.min(upTo, all.length)).toSorted((a, b) => a - b)
        const rest = yield* collect(followAnswer(looksAt(all, known), after))
        assert.deepStrictEqual([...whole.slice(0, after), ...rest], whole)
      })
  )

  it("ends with the whole reply alone where pieces are missing", () => {
    const end: AnswerEnd = { state: "answered", deltaCount: 7 }
    assert.deepStrictEqual(computeAnswerStep({ deltas: [], end }, 3), {
      parts: [{ type: "answered", n: 8 }],
      after: 8,
      isDone: true
    })
    assert.deepStrictEqual(computeAnswerStep({ deltas: [], end: pending }, 3), { parts: [], after: 3, isDone: false })
  })

  it("is over without a word for who has heard its end", () => {
    for (const end of [
      { state: "answered", deltaCount: 7 },
      { state: "failed", deltaCount: 7, reason: "the model said no" }
    ] as const)
      assert.deepStrictEqual(computeAnswerStep({ deltas: [], end }, 8), { parts: [], after: 8, isDone: true })
  })

  it("says that it failed behind the last piece that anybody may have heard", () => {
    const reason = "the process that worked on it has ended"
    const [piece] = numbered(["a"])
    const pieces = piece === undefined ? [] : [piece]
    assert.deepStrictEqual(
      computeAnswerStep({ deltas: pieces, end: { state: "failed", deltaCount: null, reason } }, 0).parts,
      [...pieces, { type: "failed", n: 2, reason }]
    )
    // The last pieces of a process that was killed were heard and never written.
    assert.deepStrictEqual(
      computeAnswerStep({ deltas: [], end: { state: "failed", deltaCount: null, reason } }, 5).parts,
      [{ type: "failed", n: 6, reason }]
    )
    assert.deepStrictEqual(computeAnswerStep({ deltas: [], end: { state: "gone" } }, 2).parts, [
      { type: "failed", n: 3, reason: "the message was deleted" }
    ])
  })

  it("is looked at less often the longer there is no news, and at least twice a second", () => {
    assert.deepStrictEqual(
      [0, 1, 2, 3, 4, 1000].map((looks) => Duration.toMillis(computePollDelay(looks))),
      [50, 100, 200, 400, 500, 500]
    )
  })
})
