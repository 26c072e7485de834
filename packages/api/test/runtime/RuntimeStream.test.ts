import { RuntimeModelEvent } from "@berth/api/runtime/RuntimeContract"
import { formatEventFrame, keepAliveFrame } from "@berth/api/runtime/RuntimeFrames"
import { parseRuntimeEvents, type MakeSseParser } from "@berth/api/runtime/RuntimeStream"
import { expect, it } from "@effect/vitest"
import { Chunk, Effect, FastCheck, Stream } from "effect"

/** Enough of a parser for frames that this package writes itself. */
const parser: MakeSseParser = (onEvent) => {
  let rest = ""
  return {
    feed: (text) => {
      if (text.includes("\0")) return new Error("cannot go on")
      const frames = (rest + text).split("\n\n")
      rest = frames.pop() ?? ""
      for (const frame of frames) {
        const data = /^data: (.*)$/m.exec(frame)?.[1]
        if (data !== undefined) onEvent({ _tag: "Event", data })
      }
      return undefined
    }
  }
}

const read = (...texts: ReadonlyArray<string>) =>
  Stream.fromIterable(texts).pipe(
    parseRuntimeEvents(RuntimeModelEvent, parser),
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
      const wire = events.map((event) => formatEventFrame(event) + keepAliveFrame).join("")
      const pieces = wire.match(new RegExp(`[^]{1,${size}}`, "g")) ?? []
      expect(yield* read(...pieces)).toStrictEqual(events)
    })
)

it.effect("ends with the first `done` and reads nothing after it", () =>
  Effect.gen(function* () {
    expect(yield* read(formatEventFrame(done) + formatEventFrame(delta("late")) + "data: nonsense\n\n")).toStrictEqual([
      done
    ])
    const endless = Stream.concat(Stream.make(formatEventFrame(done)), Stream.never)
    const events = yield* Stream.runCollect(parseRuntimeEvents(RuntimeModelEvent, parser)(endless))
    expect(Chunk.toReadonlyArray(events)).toStrictEqual([done])
  })
)

it.effect("passes on what came before a problem", () =>
  Effect.gen(function* () {
    for (const [wire, tag] of [
      ["", "Truncated"],
      ["data: nonsense\n\n", "Nonsense"],
      [formatEventFrame({ type: "other" }), "Nonsense"],
      ["\0", "Nonsense"],
      [formatEventFrame({ type: "error" }), "Nonsense"]
    ] as const) {
      const seen: Array<unknown> = []
      const problem = yield* Stream.make(formatEventFrame(delta("first")), wire).pipe(
        parseRuntimeEvents(RuntimeModelEvent, parser),
        Stream.runForEach((event) => Effect.sync(() => seen.push(event))),
        Effect.flip
      )
      expect([wire, problem._tag]).toStrictEqual([wire, tag])
      expect(seen).toStrictEqual([delta("first")])
    }
  })
)

it.effect("fails in the other side's words", () =>
  Effect.gen(function* () {
    const event = { type: "error" as const, message: "no more" }
    expect(yield* Effect.flip(read(formatEventFrame(event)))).toStrictEqual({ _tag: "Failed", message: "no more" })
  })
)
