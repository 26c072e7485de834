import type { AnswerEvent } from "@berth/domain/interaction/answers/AnswerEvent"
import { makeAnswerFollowers } from "@berth/domain/interaction/answers/AnswerFollowers"
import { MessageId } from "@berth/domain/interaction/Conversation"
import { assert, it } from "@effect/vitest"
import { Chunk, Effect, Fiber, Stream, TestClock } from "effect"

const id = MessageId.make("msg_1")
const delta = (n: number): AnswerEvent => ({ type: "delta", n, text: `${n} ` })

/** An answer that grows by a delta per second and fails after ten. */
const makeAnswer = () => {
  const state = { known: 0, reads: 0 }
  const read = (_: MessageId, after: number) =>
    Effect.sync(() => {
      state.reads += 1
      return {
        deltas: Array.from({ length: Math.max(0, state.known - after) }, (_, at) => ({
          type: "delta" as const,
          n: after + at + 1,
          text: `${after + at + 1} `
        })),
        state:
          state.known < 10
            ? ({ state: "pending" } as const)
            : ({ state: "failed", deltaCount: 10, reason: "broken" } as const)
      }
    })
  const grow = Effect.forEach(
    Array.from({ length: 10 }, (_, at) => at + 1),
    (known) =>
      Effect.zipRight(
        Effect.sync(() => {
          state.known = known
        }),
        TestClock.adjust("1 second")
      ),
    { discard: true }
  )
  return { state, read, grow }
}

const whole = [...Array.from({ length: 10 }, (_, at) => delta(at + 1)), { type: "failed", n: 11, reason: "broken" }]

it.scoped("AnswerFollowers reads an answer once for all its readers, each from its own position", () =>
  Effect.gen(function* () {
    const alone = makeAnswer()
    const { follow } = yield* makeAnswerFollowers(alone)
    const only = yield* Effect.fork(Stream.runCollect(follow(id, 0)))
    yield* alone.grow
    assert.deepStrictEqual(Chunk.toArray(yield* Fiber.join(only)), whole)

    const shared = makeAnswer()
    const many = yield* makeAnswerFollowers(shared)
    const start = (after: number) => Effect.fork(Stream.runCollect(many.follow(id, after)))
    const early = yield* Effect.replicateEffect(start(0), 50)
    const growing = yield* Effect.fork(shared.grow)
    yield* Effect.yieldNow()
    const late = yield* Effect.forEach([0, 1, 3], start)
    yield* Fiber.join(growing)
    for (const fiber of early) assert.deepStrictEqual(Chunk.toArray(yield* Fiber.join(fiber)), whole)
    for (const [at, after] of [0, 1, 3].entries()) {
      const fiber = late[at]
      if (fiber !== undefined) assert.deepStrictEqual(Chunk.toArray(yield* Fiber.join(fiber)), whole.slice(after))
    }
    // One read per reader to catch up, and those of one follower.
    assert.isAtMost(shared.state.reads, alone.state.reads + 53)
  })
)

it.scoped("AnswerFollowers gives each reader its events behind a reader of events that are not stored", () =>
  Effect.gen(function* () {
    for (const ahead of [5, 999_999]) {
      const answer = makeAnswer()
      const { follow } = yield* makeAnswerFollowers(answer)
      const start = (after: number) => Effect.fork(Stream.runCollect(follow(id, after)))
      answer.state.known = 3
      const first = yield* start(ahead)
      yield* TestClock.adjust("1 second")
      const others = yield* Effect.forEach([0, 2, 3], start)
      yield* TestClock.adjust("1 second")
      yield* answer.grow
      const received = yield* Effect.forEach([first, ...others], Fiber.join)
      for (const [at, after] of [ahead, 0, 2, 3].entries())
        assert.deepStrictEqual(Chunk.toArray(received[at] ?? Chunk.empty()), whole.slice(after), `behind ${after}`)
    }
  })
)

it.scoped("AnswerFollowers keeps the last events for a slow reader", () =>
  Effect.gen(function* () {
    const answer = makeAnswer()
    const { follow } = yield* makeAnswerFollowers(answer)
    const slow = yield* Effect.fork(
      Stream.runCollect(Stream.mapEffect(follow(id, 0), (event) => Effect.delay(Effect.succeed(event), "5 seconds")))
    )
    yield* answer.grow
    yield* TestClock.adjust("1 minute")
    assert.deepStrictEqual(Chunk.toArray(yield* Fiber.join(slow)), whole)
  })
)

it.scoped("AnswerFollowers stops reading when the last reader leaves", () =>
  Effect.gen(function* () {
    const { read, state } = makeAnswer()
    const { follow } = yield* makeAnswerFollowers({ read })
    const readers = yield* Effect.replicateEffect(Effect.fork(Stream.runDrain(follow(id, 0))), 2)
    yield* TestClock.adjust("5 seconds")
    yield* Fiber.interruptAll(readers)
    const { reads } = state
    assert.isAbove(reads, 4)
    yield* TestClock.adjust("5 seconds")
    assert.strictEqual(state.reads, reads)
  })
)
