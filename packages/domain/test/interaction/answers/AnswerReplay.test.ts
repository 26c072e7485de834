import {
  type AnswerDelta,
  type AnswerEvent,
  formatAnswerEventId,
  maximumEventNumber,
  parseAnswerEventId
} from "@berth/domain/interaction/answers/AnswerEvent"
import type { AnswerSnapshot, AnswerState } from "@berth/domain/interaction/answers/AnswerStreams"
import { followAnswer, computePollDelay, computeAnswerStep } from "@berth/domain/interaction/answers/AnswerReplay"
import { AgentId } from "@berth/domain/shared/AgentId"
import { ChatSessionId, type Message, MessageId } from "@berth/domain/interaction/Conversation"
import { UserId } from "@berth/domain/shared/UserId"
import { assert, describe, it } from "@effect/vitest"
import { Units, UsdMicros } from "@berth/domain/shared/Money"
import { Chunk, DateTime, Duration, Effect, FastCheck, Fiber, Option, Stream, TestClock } from "effect"

const reply: Message = {
  id: MessageId.make("msg_2"),
  sessionId: ChatSessionId.make("chs_1"),
  userId: UserId.make("usr_1"),
  agentId: AgentId.make("agt_1"),
  seq: 2,
  sender: "agent",
  content: "whole",
  topic: null,
  platform: "web",
  state: "answered",
  failure: null,
  model: "openai/gpt-4",
  provider: "openai",
  units: Units(1),
  costMicros: UsdMicros(240),
  durationMs: 1_850,
  isStopped: false,
  toolCalls: null,
  attachments: null,
  createdAt: DateTime.unsafeMake(0)
}

const texts = FastCheck.array(FastCheck.string({ unit: "binary", maxLength: 4 }), { maxLength: 30 })
const numbered = (all: ReadonlyArray<string>): ReadonlyArray<AnswerDelta> =>
  all.map((text, index) => ({ type: "delta", n: index + 1, text }))

const wholeOf = (all: ReadonlyArray<string>): ReadonlyArray<AnswerEvent> => [
  ...numbered(all),
  { type: "done", n: all.length + 1, reply }
]

const pending: AnswerState = { state: "pending" }

/** Successive snapshots with more deltas each; the last one has the end. */
const readSnapshots = (all: ReadonlyArray<string>, known: ReadonlyArray<number>) => {
  let look = -1
  return (after: number) =>
    Effect.sync((): AnswerSnapshot => {
      look += 1
      const upTo = known[look] ?? all.length
      return {
        deltas: numbered(all).slice(after, upTo),
        state: look >= known.length ? { state: "answered", deltaCount: all.length, reply } : pending
      }
    })
}

const collect = (stream: Stream.Stream<AnswerEvent>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(Stream.runCollect(stream))
    yield* TestClock.adjust("1 minute")
    return Chunk.toReadonlyArray(yield* Fiber.join(fiber))
  })

describe("A followed answer", () => {
  it.effect.prop(
    "A followed answer completes the events received before any disconnect to the whole answer",
    [texts, FastCheck.nat(40), FastCheck.array(FastCheck.nat(30), { maxLength: 8 })],
    ([all, cut, moments]) =>
      Effect.gen(function* () {
        const whole = wholeOf(all)
        const after = Math.min(cut, whole.length)
        const known = moments.map((upTo) => Math.min(upTo, all.length)).toSorted((a, b) => a - b)
        const rest = yield* collect(followAnswer(readSnapshots(all, known), after))
        assert.deepStrictEqual([...whole.slice(0, after), ...rest], whole)
      })
  )

  it("A followed answer yields only the end where deltas are missing", () => {
    const state: AnswerState = { state: "answered", deltaCount: 7, reply }
    assert.deepStrictEqual(computeAnswerStep({ deltas: [], state }, 3), {
      events: [{ type: "done", n: 8, reply }],
      after: 8,
      isDone: true
    })
    assert.deepStrictEqual(computeAnswerStep({ deltas: [], state: pending }, 3), {
      events: [],
      after: 3,
      isDone: false
    })
  })

  it("A followed answer yields nothing behind its end", () => {
    for (const state of [
      { state: "answered", deltaCount: 7, reply },
      { state: "failed", deltaCount: 7, reason: "the model said no" }
    ] as const)
      assert.deepStrictEqual(computeAnswerStep({ deltas: [], state }, 8), { events: [], after: 8, isDone: true })
  })

  it("A followed answer without a count of its deltas has one last failure behind any delta", () => {
    const [piece] = numbered(["a"])
    const pieces = piece === undefined ? [] : [piece]
    for (const [state, reason] of [
      [{ state: "failed", deltaCount: null, reason: "the process has ended" }, "the process has ended"],
      [{ state: "gone" }, "the message was deleted"]
    ] as const) {
      const failed = { type: "failed", n: maximumEventNumber, reason } as const
      assert.deepStrictEqual(computeAnswerStep({ deltas: pieces, state }, 0).events, [...pieces, failed])
      // The last deltas of a killed process can be delivered without being written.
      assert.deepStrictEqual(computeAnswerStep({ deltas: [], state }, 5).events, [failed])
      assert.deepStrictEqual(computeAnswerStep({ deltas: [], state }, failed.n), {
        events: [],
        after: failed.n,
        isDone: true
      })
    }
    const id = formatAnswerEventId(reply.id, maximumEventNumber)
    assert.deepStrictEqual(parseAnswerEventId(id), Option.some({ messageId: reply.id, after: maximumEventNumber }))
  })

  it("A followed answer is polled less often without new events, and at least twice a second", () => {
    assert.deepStrictEqual(
      [0, 1, 2, 3, 4, 1000].map((looks) => Duration.toMillis(computePollDelay(looks))),
      [50, 100, 200, 400, 500, 500]
    )
  })
})
