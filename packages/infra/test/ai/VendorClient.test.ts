import type { ChatMessage, ToolCall } from "@berth/domain/ai/chat/ModelChat"
import { makeChunkSource, streamFromSource } from "@berth/domain/ai/streams/ChunkSource"
import { countToolCalls, toVendorConversation } from "@berth/infra/ai/vendor/VendorConversation"
import { decodeText, endAfterLast, parseEvents } from "@berth/infra/ai/vendor/AnswerStream"
import type { ChunkSource } from "@berth/infra/ai/vendor/ChunkStage"
import { redactMessage } from "@berth/infra/ai/vendor/ProviderFailure"
import { readRetryAfter } from "@berth/infra/ai/vendor/VendorErrorBody"
import {
  parseToolArguments,
  type ToolCallFragment,
  addToolCallFragment,
  type PartialToolCall
} from "@berth/infra/ai/vendor/PartialToolCall"
import { isBlankText, toAlternatingTurns } from "@berth/infra/ai/vendor/AlternatingTurns"
import { Headers } from "@effect/platform"
import { assert, describe, it } from "@effect/vitest"
import { Chunk, Duration, Effect, Either, FastCheck, Fiber, Queue, Redacted, Stream, TestClock } from "effect"
import { assertMatches } from "../../../../test/support/Matching.ts"

/** Applies a stage of a wire to a stream. */
const over =
  <A, E, B, E2>(stage: (pull: ChunkSource<A, E>) => ChunkSource<B, E2>) =>
  (stream: Stream.Stream<A, E>) =>
    Stream.unwrapScoped(Effect.map(makeChunkSource(stream), (pull) => streamFromSource(stage(pull))))

describe("events", () => {
  const readEvents = over((bytes: ChunkSource<Uint8Array, never>) =>
    parseEvents(decodeText(bytes), (data) => Either.right({ type: "chunk" as const, chunk: data }))
  )
  const bytes = new TextEncoder().encode(
    `: hello\n\ndata: {"a":"日本"}\r\n\r\nevent: x\r\ndata: two\r\ndata:lines\n\ndata\r\rdata: [DONE]\n\ndata: cut`
  )

  it.prop(
    "readEvents returns the same events wherever the bytes are cut",
    [FastCheck.array(FastCheck.nat({ max: bytes.length }))],
    ([cuts]) => {
      const at = [0, ...cuts.sort((a, b) => a - b), bytes.length]
      const pieces = at.slice(1).map((to, index) => bytes.slice(at[index], to))
      const collected = Effect.runSync(Stream.runCollect(readEvents(Stream.fromIterable(pieces))))
      const events = Chunk.toReadonlyArray(collected).flatMap((one) => (one.type === "chunk" ? [one.chunk] : []))
      assert.deepStrictEqual(events, [`{"a":"日本"}`, "two\nlines", "", "[DONE]"])
    }
  )

  it("readEvents returns comments as keep-alives", () => {
    const comment = Stream.make(new TextEncoder().encode(": OPENROUTER PROCESSING\n\n"))
    assert.deepStrictEqual(Chunk.toReadonlyArray(Effect.runSync(Stream.runCollect(readEvents(comment)))), [
      { type: "keep-alive" }
    ])
  })

  it("readEvents fails for an event over its limit", () => {
    const endless = Stream.repeatValue(new TextEncoder().encode("x".repeat(100_000)))
    assertMatches(Effect.runSync(Effect.flip(Stream.runDrain(readEvents(endless)))), {
      _tag: "VendorAnswerMalformed"
    })
  })
})

describe("the end of a stream", () => {
  const toTheEnd = <E>(events: Stream.Stream<number, E>) =>
    over((pull: ChunkSource<number, E>) => endAfterLast(pull, (event) => event === 3))(events)

  it.effect("endAfterLast ends after the last event and the rest of its chunk", () =>
    Effect.gen(function* () {
      const events = Stream.fromChunks(Chunk.make(1), Chunk.make(2, 3, 4), Chunk.make(5))
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(toTheEnd(events))), [1, 2, 3, 4, 5])
    })
  )

  it.effect("endAfterLast ends with the bytes when no event is the last", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(toTheEnd(Stream.make(1, 2)))), [1, 2])
    })
  )

  it.effect("endAfterLast waits a short time for further events after the last one", () =>
    Effect.gen(function* () {
      const queue = yield* Queue.unbounded<number>()
      const events = toTheEnd(Stream.fromQueue(queue))
      const fiber = yield* Effect.fork(Stream.runCollect(events))
      yield* queue.offerAll([1, 3])
      yield* TestClock.adjust("100 millis")
      yield* queue.offer(4)
      yield* TestClock.adjust("200 millis")
      yield* queue.offer(5)
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Fiber.join(fiber)), [1, 3, 4])
    })
  )

  it.effect("endAfterLast ignores a broken connection after the last event, and fails before it", () =>
    Effect.gen(function* () {
      const cut = (...events: ReadonlyArray<number>) =>
        Stream.runCollect(toTheEnd(Stream.concat(Stream.make(...events), Stream.fail("cut"))))
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* cut(1, 3)), [1, 3])
      assert.strictEqual(yield* Effect.flip(cut(1, 2)), "cut")
    })
  )
})

describe("turns", () => {
  const message: FastCheck.Arbitrary<ChatMessage> = FastCheck.record({
    role: FastCheck.constantFrom("user", "assistant", "system"),
    content: FastCheck.oneof(FastCheck.constantFrom("", " \n", "Hello"), FastCheck.string())
  })

  it.prop("toAlternatingTurns alternates roles and loses nothing", [FastCheck.array(message)], ([messages]) => {
    const { system, turns } = toAlternatingTurns(messages)
    turns.forEach(({ role, text }, index) => {
      assert.strictEqual(role, index % 2 === 0 ? "user" : "assistant")
      assert.notStrictEqual(text.trim(), "")
    })
    assert.isTrue(turns.length === 0 || turns.length % 2 === 1)
    const all = [system, ...turns.map(({ text }) => text)].join("\n")
    for (const { content } of messages) assert.include(all, content.trim())
    if (turns.length === 0) assert.isTrue(messages.every(({ content }) => content.trim() === ""))
  })

  it("toAlternatingTurns joins messages of one role and all system messages", () => {
    assert.deepStrictEqual(
      toAlternatingTurns([
        { role: "system", content: "Be brief" },
        { role: "user", content: "Hello" },
        { role: "user", content: "World" },
        { role: "system", content: "Be kind" },
        { role: "assistant", content: "Yes?" },
        { role: "user", content: "No" }
      ]),
      {
        system: "Be brief\n\nBe kind",
        turns: [
          { role: "user", text: "Hello\n\nWorld" },
          { role: "assistant", text: "Yes?" },
          { role: "user", text: "No" }
        ]
      }
    )
    assert.deepStrictEqual(toAlternatingTurns([{ role: "system", content: "Say hello" }]), {
      system: null,
      turns: [{ role: "user", text: "Say hello" }]
    })
  })
})

describe("a reason", () => {
  const key = Redacted.make("sk-very-secret")

  it.prop("redactMessage removes the key", [FastCheck.string(), FastCheck.string()], ([before, after]) => {
    assert.notInclude(redactMessage(`${before}sk-very-secret${after}`, key), "sk-very-secret")
  })
})

describe("The Retry-After time", () => {
  it("readRetryAfter reads seconds, milliseconds and dates", () => {
    const after = (headers: Record<string, string>) => {
      const duration = readRetryAfter(Headers.fromInput(headers), Date.parse("Wed, 21 Oct 2026 07:28:00 GMT"))
      return duration === undefined ? null : Duration.toMillis(duration)
    }
    assert.strictEqual(after({ "retry-after": "3" }), 3_000)
    assert.strictEqual(after({ "retry-after-ms": "250", "retry-after": "1" }), 250)
    assert.strictEqual(after({ "retry-after": "Wed, 21 Oct 2026 07:28:05 GMT" }), 5_000)
    assert.isNull(after({ "retry-after": "soon" }))
    assert.isNull(after({}))
  })
})

describe("calls of tools", () => {
  const text = FastCheck.oneof(FastCheck.constantFrom("", " ", "a", "b", "call_1", "call_2"), FastCheck.string())
  const call: FastCheck.Arbitrary<ToolCall> = FastCheck.record({
    id: text,
    name: text,
    arguments: FastCheck.oneof(FastCheck.constantFrom("", "{}", "[]", "null", '{"a":1}'), FastCheck.string())
  })
  const plainMessage: FastCheck.Arbitrary<ChatMessage> = FastCheck.record({
    role: FastCheck.constantFrom("user", "system"),
    content: text
  })
  const answered: FastCheck.Arbitrary<ChatMessage> = FastCheck.record({
    role: FastCheck.constant("assistant"),
    content: text,
    toolCalls: FastCheck.array(call, { maxLength: 3 })
  })
  const toolMessage: FastCheck.Arbitrary<ChatMessage> = FastCheck.record({
    role: FastCheck.constant("tool"),
    content: text,
    toolCallId: text,
    toolName: text
  })
  const message = FastCheck.oneof(plainMessage, answered, toolMessage)

  it.prop(
    "toVendorConversation gives each tool call its own id and one result, and loses nothing",
    [FastCheck.array(message)],
    ([messages]) => {
      const vendorMessages = toVendorConversation(messages, 40)
      const calls = vendorMessages.flatMap((one) => (one.role === "assistant" ? one.calls : []))
      assert.lengthOf(calls, countToolCalls(messages))
      assert.strictEqual(new Set(calls.map(({ id }) => id)).size, calls.length)
      for (const { id, name, result } of calls) {
        assert.match(id, /^[A-Za-z0-9_-]{1,40}$/)
        assert.match(name, /^[A-Za-z0-9_-]{1,64}$/)
        assert.notStrictEqual(result.trim(), "")
      }
      const all = JSON.stringify(vendorMessages)
      for (const { content } of messages) {
        if (content.trim() !== "") assert.include(all, JSON.stringify(content).slice(1, -1))
      }
    }
  )

  it.prop(
    "toAlternatingTurns puts the results of tool calls into the next turn",
    [FastCheck.array(message)],
    ([messages]) => {
      const { turns } = toAlternatingTurns(messages)
      turns.forEach((turn, index) => {
        assert.strictEqual(turn.role, index % 2 === 0 ? "user" : "assistant")
        const before = turns[index - 1]
        const calls = before?.role === "assistant" ? before.calls : undefined
        assert.deepStrictEqual(
          turn.role === "user" ? turn.results : undefined,
          turn.role === "user" ? calls : undefined
        )
        if (isBlankText(turn.text)) assert.isAbove((turn.role === "user" ? turn.results : turn.calls)?.length ?? 0, 0)
      })
      assert.isTrue(turns.length === 0 || turns.length % 2 === 1)
    }
  )

  it("toVendorConversation assigns results to their calls in any order", () => {
    const toolCalls = ["a", "b"].map((id) => ({ id, name: "t", arguments: "{}" }))
    const result = (toolCallId: string, content: string): ChatMessage => ({
      role: "tool",
      toolCallId,
      toolName: "t",
      content
    })
    const [, round] = toVendorConversation([
      { role: "user", content: "Go" },
      { role: "assistant", content: "", toolCalls },
      result("b", "of b"),
      result("a", "of a"),
      { role: "assistant", content: "Done" },
      result("a", "late")
    ])
    assertMatches(round, {
      calls: [
        { id: "a", result: "of a" },
        { id: "b", result: "of b" }
      ]
    })
  })

  const pieces = (whole: string, cuts: ReadonlyArray<number>) => {
    const at = [0, ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b), whole.length]
    return at.slice(1).map((to, index) => whole.slice(at[index], to))
  }

  it.prop(
    "addToolCallFragment joins arguments wherever they are cut, also of interleaved calls",
    [
      FastCheck.array(FastCheck.tuple(FastCheck.json(), FastCheck.array(FastCheck.nat())), {
        minLength: 1,
        maxLength: 4
      })
    ],
    ([fragments]) => {
      const begun = fragments.map((_, index): ToolCallFragment => ({
        index,
        id: `id_${index}`,
        name: `tool_${index}`,
        arguments: ""
      }))
      const rest = fragments.flatMap(([json, cuts], index) =>
        pieces(json, cuts).map((part, nth): readonly [number, ToolCallFragment] => [nth, { index, arguments: part }])
      )
      const inTurn = rest.sort(([a], [b]) => a - b).map(([, piece]) => piece)
      const calls = [...begun, ...inTurn].reduce<ReadonlyArray<PartialToolCall>>(addToolCallFragment, [])
      assert.deepStrictEqual(
        calls.map(({ arguments: json, id, name }) => [id, name, json]),
        fragments.map(([json], index) => [`id_${index}`, `tool_${index}`, json])
      )
    }
  )

  it("addToolCallFragment distinguishes calls with missing or wrong indexes", () => {
    const gather = (...fragments: ReadonlyArray<ToolCallFragment>) =>
      fragments
        .reduce<ReadonlyArray<PartialToolCall>>(addToolCallFragment, [])
        .map(({ arguments: json, name }) => [name, json])
    const two = [
      ["a", "{}"],
      ["b", "{}"]
    ]
    assert.deepStrictEqual(
      gather({ index: 0, id: "1", name: "a", arguments: "{}" }, { index: 0, id: "2", name: "b", arguments: "{}" }),
      two
    )
    assert.deepStrictEqual(gather({ name: "a", arguments: "{}" }, { name: "b", arguments: "{}" }), two)
    assert.deepStrictEqual(
      gather({ id: "1", name: "a", arguments: "{" }, { arguments: "}" }, { id: "2", name: "b", arguments: "{}" }),
      two
    )
    // Each part repeats the name.
    assert.deepStrictEqual(
      gather({ index: 0, id: "1", name: "a", arguments: "{" }, { index: 0, id: "1", name: "a", arguments: "}" }),
      [["a", "{}"]]
    )
  })

  it("parseToolArguments returns an object for any text", () => {
    assert.deepStrictEqual(parseToolArguments(""), {})
    assert.deepStrictEqual(parseToolArguments('{"a":[1]}'), { a: [1] })
    for (const wrong of ["{", "[1]", "null", "7", '"x"'])
      assert.deepStrictEqual(parseToolArguments(wrong), { arguments: wrong })
  })
})
