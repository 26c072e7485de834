import { RuntimeModelEvent } from "@berth/api/runtime/RuntimeContract"
import { encodeTypedSseEvent, sseKeepAlive } from "@berth/api/http/Sse"
import { limitStreamTime, parseRuntimeEvents } from "@berth/api/runtime/RuntimeStream"
import { assert, it } from "@effect/vitest"
import {
  Arbitrary,
  Chunk,
  Duration,
  Effect,
  Either,
  FastCheck,
  Fiber,
  Schedule,
  Schema,
  Stream,
  TestClock
} from "effect"

const read = (...texts: ReadonlyArray<string>) =>
  Stream.fromIterable(texts).pipe(
    parseRuntimeEvents(RuntimeModelEvent),
    Stream.runCollect,
    Effect.map(Chunk.toReadonlyArray)
  )

const delta = (text: string) => ({ type: "delta" as const, text })
const done = { type: "done" as const, model: "m", provider: "p" }

it.effect.prop(
  "RuntimeStream reads what was written, wherever the text is cut",
  [FastCheck.array(FastCheck.string({ unit: "binary" })), FastCheck.integer({ min: 1, max: 20 })],
  ([texts, size]) =>
    Effect.gen(function* () {
      const events = [...texts.map(delta), done]
      const wire = events.map((event) => encodeTypedSseEvent(event) + sseKeepAlive).join("")
      const pieces = wire.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []
      assert.deepStrictEqual(yield* read(...pieces), events)
    })
)

it.effect("RuntimeStream ends with the first `done` and reads nothing after it", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(
      yield* read(encodeTypedSseEvent(done) + encodeTypedSseEvent(delta("late")) + "data: nonsense\n\n"),
      [done]
    )
    const endless = Stream.concat(Stream.make(encodeTypedSseEvent(done)), Stream.never)
    const events = yield* Stream.runCollect(parseRuntimeEvents(RuntimeModelEvent)(endless))
    assert.deepStrictEqual(Chunk.toReadonlyArray(events), [done])
  })
)

it.effect("RuntimeStream returns the events before a failure", () =>
  Effect.gen(function* () {
    for (const [wire, tag] of [
      ["", "Truncated"],
      ["data: nonsense\n\n", "Malformed"],
      [encodeTypedSseEvent({ type: "other" }), "Malformed"],
      ["x".repeat(5_000_000), "Oversized"],
      [encodeTypedSseEvent(delta("x".repeat(1_100_000))), "Oversized"],
      [encodeTypedSseEvent({ type: "error" }), "Malformed"]
    ] as const) {
      const seen: Array<unknown> = []
      const problem = yield* Stream.make(encodeTypedSseEvent(delta("first")), wire).pipe(
        parseRuntimeEvents(RuntimeModelEvent),
        Stream.runForEach((event) => Effect.sync(() => seen.push(event))),
        Effect.flip
      )
      assert.deepStrictEqual([wire, problem._tag], [wire, tag])
      assert.deepStrictEqual(seen, [delta("first")])
    }
  })
)

it.effect("RuntimeStream fails with the error of the other side", () =>
  Effect.gen(function* () {
    const event = { type: "error" as const, message: "no more" }
    assert.deepStrictEqual(yield* Effect.flip(read(encodeTypedSseEvent(event))), { _tag: "Failed", message: "no more" })
  })
)

it.effect.prop(
  "parseRuntimeEvents reads every event as its schema does",
  [
    FastCheck.oneof(
      Arbitrary.make(RuntimeModelEvent),
      FastCheck.object(),
      FastCheck.record({ type: FastCheck.constant("delta"), text: FastCheck.anything() })
    )
  ],
  ([event]) =>
    Effect.gen(function* () {
      const data = JSON.stringify(event)
      const expected = Schema.decodeUnknownEither(Schema.parseJson(RuntimeModelEvent))(data)
      const [first] = yield* read(`data: ${data}\n\n`, encodeTypedSseEvent(done)).pipe(
        Effect.catchAll((problem) => Effect.succeed([problem]))
      )
      if (Either.isLeft(expected)) assert.deepStrictEqual(first, { _tag: "Malformed" })
      else if (expected.right.type === "error")
        assert.deepStrictEqual(first, { _tag: "Failed", message: expected.right.message })
      else assert.deepStrictEqual(first, expected.right)
    })
)

it.effect("limitStreamTime fails a stream that stops sending, and one that does not end", () =>
  Effect.gen(function* () {
    const limits = { idle: "10 seconds", total: "1 minute", onTimeout: () => "late" } as const
    const silent = Stream.concat(Stream.make(1), Stream.never)
    const endless = Stream.schedule(Stream.repeatValue(1), Schedule.spaced("9 seconds"))
    for (const [stream, after] of [
      [silent, 10],
      [endless, 60]
    ] as const) {
      const reader = yield* Effect.fork(Effect.flip(Stream.runDrain(limitStreamTime(limits)(stream))))
      yield* TestClock.adjust(Duration.seconds(after - 1))
      assert.strictEqual((yield* Fiber.poll(reader))._tag, "None")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(reader), "late")
    }
    const whole = yield* Stream.runCollect(limitStreamTime(limits)(Stream.make(1, 2, 3)))
    assert.deepStrictEqual(Chunk.toReadonlyArray(whole), [1, 2, 3])
    assert.strictEqual(yield* Effect.flip(Stream.runDrain(limitStreamTime(limits)(Stream.fail("broken")))), "broken")
  })
)

it.effect("parseRuntimeEvents fails when the deltas exceed the limit of the text together", () =>
  Effect.gen(function* () {
    const seen: Array<unknown> = []
    const problem = yield* Stream.repeatValue(encodeTypedSseEvent(delta("12345"))).pipe(
      parseRuntimeEvents(RuntimeModelEvent, { event: 100, text: 12 }),
      Stream.runForEach((event) => Effect.sync(() => seen.push(event))),
      Effect.flip
    )
    assert.deepStrictEqual(problem, { _tag: "Oversized" })
    assert.deepStrictEqual(seen, [delta("12345"), delta("12345")])
  })
)
