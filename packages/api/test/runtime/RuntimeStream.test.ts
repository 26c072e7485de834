import { RuntimeModelEvent } from "@berth/api/runtime/RuntimeContract"
import { encodeTypedSseEvent, sseKeepAlive } from "@berth/api/http/Sse"
import { parseRuntimeEvents } from "@berth/api/runtime/RuntimeStream"
import { assert, it } from "@effect/vitest"
import { Chunk, Effect, FastCheck, Stream } from "effect"

const read = (...texts: ReadonlyArray<string>) =>
  Stream.fromIterable(texts).pipe(
    parseRuntimeEvents(RuntimeModelEvent),
    Stream.runCollect,
    Effect.map(Chunk.toReadonlyArray)
  )

const delta = (text: string) => ({ type: "delta" as const, text })
const done = { type: "done" as const, model: "m", provider: "p" }

it.effect.prop(
  "reads what was written, wherever the text is cut",
  [FastCheck.array(FastCheck.string({ unit: "binary" })), FastCheck.integer({ min: 1, max: 20 })],
  ([texts, size]) =>
    Effect.gen(function* () {
      const events = [...texts.map(delta), done]
      const wire = events.map((event) => encodeTypedSseEvent(event) + sseKeepAlive).join("")
      const pieces = wire.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []
      assert.deepStrictEqual(yield* read(...pieces), events)
    })
)

it.effect("ends with the first `done` and reads nothing after it", () =>
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

it.effect("passes on what came before a problem", () =>
  Effect.gen(function* () {
    for (const [wire, tag] of [
      ["", "Truncated"],
      ["data: nonsense\n\n", "Malformed"],
      [encodeTypedSseEvent({ type: "other" }), "Malformed"],
      ["x".repeat(5_000_000), "Malformed"],
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

it.effect("fails in the other side's words", () =>
  Effect.gen(function* () {
    const event = { type: "error" as const, message: "no more" }
    assert.deepStrictEqual(yield* Effect.flip(read(encodeTypedSseEvent(event))), { _tag: "Failed", message: "no more" })
  })
)
