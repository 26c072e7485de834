import { RuntimeModelEvent } from "@berth/api/runtime/RuntimeContract"
import { encodeTypedSseEvent, sseKeepAlive } from "@berth/api/http/Sse"
import { readRuntimeEvents } from "@berth/api/runtime/RuntimeStream"
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

const timeouts = { idle: "10 seconds", total: "1 minute", onTimeout: () => "late" as const } as const
const readEvents = readRuntimeEvents(RuntimeModelEvent, timeouts)

const readBytes = (pieces: Iterable<Uint8Array>) =>
  Stream.fromIterable(pieces).pipe(readEvents, Stream.runCollect, Effect.map(Chunk.toReadonlyArray))
const encoder = new TextEncoder()
const read = (...texts: ReadonlyArray<string>) => readBytes(texts.map((text) => encoder.encode(text)))

const delta = (text: string) => ({ type: "delta" as const, text })
const done = { type: "done" as const, model: "m", provider: "p" }

it.effect.prop(
  "RuntimeStream reads what was written, wherever its bytes are cut",
  [FastCheck.array(FastCheck.string({ unit: "binary" })), FastCheck.integer({ min: 1, max: 20 })],
  ([texts, size]) =>
    Effect.gen(function* () {
      const events = [...texts.map(delta), done]
      const wire = events.map((event) => encodeTypedSseEvent(event) + sseKeepAlive).join("")
      const bytes = encoder.encode(wire)
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size)
      )
      assert.deepStrictEqual(yield* readBytes(pieces), events)
    })
)

it.effect("RuntimeStream ends with the first `done` and reads nothing after it", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(
      yield* read(encodeTypedSseEvent(done) + encodeTypedSseEvent(delta("late")) + "data: nonsense\n\n"),
      [done]
    )
    const endless = Stream.concat(Stream.make(encoder.encode(encodeTypedSseEvent(done))), Stream.never)
    const events = yield* Stream.runCollect(readEvents(endless))
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
        Stream.encodeText,
        readEvents,
        Stream.runForEach((event) => Effect.sync(() => seen.push(event))),
        Effect.flip
      )
      assert.containSubset({ wire, problem }, { wire, problem: { _tag: tag } })
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
  "readRuntimeEvents reads every event as its schema does",
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

it.effect("readRuntimeEvents fails a stream that stops sending, and one that does not end", () =>
  Effect.gen(function* () {
    const comment = encoder.encode(sseKeepAlive)
    const silent = Stream.concat(Stream.make(comment), Stream.never)
    const endless = Stream.schedule(Stream.repeatValue(comment), Schedule.spaced("9 seconds"))
    for (const [stream, after] of [
      [silent, 10],
      [endless, 60]
    ] as const) {
      const reader = yield* Effect.fork(Effect.flip(Stream.runDrain(readEvents(stream))))
      yield* TestClock.adjust(Duration.seconds(after - 1))
      assert.strictEqual((yield* Fiber.poll(reader))._tag, "None")
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(reader), "late")
    }
    assert.strictEqual(yield* Effect.flip(Stream.runDrain(readEvents(Stream.fail("broken" as const)))), "broken")
  })
)

it.effect("readRuntimeEvents fails when the deltas exceed the limit of the text together", () =>
  Effect.gen(function* () {
    const seen: Array<unknown> = []
    const problem = yield* Stream.repeatValue(encodeTypedSseEvent(delta("12345"))).pipe(
      Stream.encodeText,
      readRuntimeEvents(RuntimeModelEvent, timeouts, { event: 100, text: 12, data: 1_000 }),
      Stream.runForEach((event) => Effect.sync(() => seen.push(event))),
      Effect.flip
    )
    assert.deepStrictEqual(problem, { _tag: "Oversized" })
    assert.deepStrictEqual(seen, [delta("12345"), delta("12345")])
  })
)

it.effect("readRuntimeEvents fails when deltas without text exceed the limit of the data together", () =>
  Effect.gen(function* () {
    const seen: Array<unknown> = []
    const problem = yield* Stream.repeatValue(encodeTypedSseEvent(delta(""))).pipe(
      Stream.take(10),
      Stream.encodeText,
      readRuntimeEvents(RuntimeModelEvent, timeouts, { event: 100, text: 12, data: 60 }),
      Stream.runForEach((event) => Effect.sync(() => seen.push(event))),
      Effect.flip
    )
    assert.deepStrictEqual(problem, { _tag: "Oversized" })
    assert.deepStrictEqual(seen, [delta(""), delta("")])
  })
)
