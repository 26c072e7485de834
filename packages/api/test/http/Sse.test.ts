import { encodeSseEvent, encodeTypedSseEvent, makeSseParser, sseKeepAlive } from "@berth/api/http/Sse"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

const readAll = (pieces: ReadonlyArray<string>) => {
  const parser = makeSseParser()
  return pieces.flatMap((piece) => parser.push(piece))
}

const cut = (text: string, places: ReadonlyArray<number>) => {
  const at = [0, ...places.map((place) => place % (text.length + 1)), text.length].toSorted((a, b) => a - b)
  return at.slice(1).map((end, index) => text.slice(at[index], end))
}

const event = FastCheck.record({
  event: FastCheck.constantFrom("delta", "done", "error"),
  id: FastCheck.stringMatching(/^msg_[0-9a-f]{4}:[0-9]{1,3}$/),
  // Lone line ends of any kind are one kind after encoding.
  data: FastCheck.array(FastCheck.constantFrom("", " ", ":", "data: x", "日本", "\u{1F600}", '{"text":"a"}')).map(
    (lines) => lines.join("\n")
  )
})
const places = FastCheck.array(FastCheck.nat(500), { maxLength: 8 })

describe("makeSseParser", () => {
  it.prop(
    "makeSseParser reads what encodeSseEvent writes, wherever the text is cut and however its lines end",
    [FastCheck.array(event, { maxLength: 5 }), places, FastCheck.constantFrom("\n", "\r\n", "\r")],
    ([events, at, lineEnd]) => {
      const wire = `\uFEFF: hello\n\n${events.map(encodeSseEvent).join(sseKeepAlive)}`.replaceAll("\n", lineEnd)
      assert.deepStrictEqual(readAll(cut(wire, at)), events)
    }
  )

  it.prop("makeSseParser reads JSON with any text", [FastCheck.string({ unit: "binary" }), places], ([text, at]) => {
    const typed = { type: "delta", text }
    assert.deepStrictEqual(readAll(cut(encodeTypedSseEvent(typed), at)), [
      { event: "delta", id: undefined, data: JSON.stringify(typed) }
    ])
  })

  it("makeSseParser completes an event at a carriage return without waiting for a line feed", () => {
    assert.deepStrictEqual(readAll(["data: one\r\r", "\ndata: two\r\n\r", "\n"]), [
      { event: "message", id: undefined, data: "one" },
      { event: "message", id: undefined, data: "two" }
    ])
  })

  it("makeSseParser joins lines of data and strips one space after the colon", () => {
    assert.deepStrictEqual(readAll(["data: one\ndata:two\ndata:  three\ndata\n\n"]), [
      { event: "message", id: undefined, data: "one\ntwo\n three\n" }
    ])
  })

  it("makeSseParser keeps the last id for later events and ignores one with a null character", () => {
    assert.deepStrictEqual(readAll(["id: 1\n\nid: a\0b\ndata: x\n\nid\ndata: y\n\n"]), [
      { event: "message", id: "1", data: "x" },
      { event: "message", id: "", data: "y" }
    ])
  })

  it("makeSseParser discards the name of an event without data", () => {
    assert.deepStrictEqual(readAll(["event: delta\n\ndata: x\n\n"]), [{ event: "message", id: undefined, data: "x" }])
  })

  it("makeSseParser accepts a retry of digits only", () => {
    const parser = makeSseParser()
    assert.isUndefined(parser.retry())
    parser.push(encodeSseEvent({ retry: 250, data: "" }) + "retry: 1s\n\n")
    assert.strictEqual(parser.retry(), 250)
  })

  it("makeSseParser returns nothing for an event that has not ended", () => {
    assert.deepStrictEqual(readAll(["event: delta\ndata: x\n"]), [])
  })

  it("makeSseParser ignores a byte order mark at the start only", () => {
    assert.deepStrictEqual(readAll(["\uFEFFdata: x\n\n\uFEFFdata: y\n\n"]), [
      { event: "message", id: undefined, data: "x" }
    ])
  })

  it.each([["x".repeat(20)], ["data: 345678901234\n"], ["data: 1\ndata: 2\ndata: 3\ndata: 4\ndata: 5\ndata: 6\n"]])(
    "makeSseParser stops at an event longer than its limit: %j",
    (text) => {
      const parser = makeSseParser(11)
      assert.lengthOf(parser.push("data: 1\n\n"), 1)
      assert.isFalse(parser.hasOverflowed())
      parser.push(text)
      assert.isTrue(parser.hasOverflowed())
      assert.deepStrictEqual(parser.push("\n\ndata: x\n\n"), [])
    }
  )
})
