import { makeSseReader } from "@berth/server/pages/browser/SseReader"
import { encodeSseEvent } from "@berth/server/http/SseResponse"
import { assert, describe, it } from "@effect/vitest"
import { FastCheck } from "effect"

const readAll = (pieces: ReadonlyArray<string>) => {
  const read = makeSseReader()
  return pieces.flatMap((piece) => read(piece))
}

/** A text cut at places. */
const cut = (text: string, places: ReadonlyArray<number>) => {
  const at = [0, ...places.map((place) => place % (text.length + 1)), text.length].toSorted((a, b) => a - b)
  return at.slice(1).map((end, index) => text.slice(at[index], end))
}

const event = FastCheck.record({
  event: FastCheck.constantFrom("delta", "done", "error"),
  id: FastCheck.stringMatching(/^msg_[0-9a-f]{4}:[0-9]{1,3}$/),
  data: FastCheck.record({ text: FastCheck.string({ unit: "binary" }) })
})

describe("The reader of server-sent events", () => {
  it("reads what the service writes, wherever the pieces are cut", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(event, { maxLength: 5 }),
        FastCheck.array(FastCheck.nat(500), { maxLength: 8 }),
        FastCheck.constantFrom("\n", "\r\n", "\r"),
        (events, places, lineEnd) => {
          const wire = `: hello\n\n${events.map(encodeSseEvent).join(": still there\n\n")}`.replaceAll("\n", lineEnd)
          const got = readAll([...cut(wire, places), lineEnd === "\r" ? "\n" : ""])
          assert.deepStrictEqual(
            got,
            events.map(({ data, event, id }) => ({ event, id, data: JSON.stringify(data) }))
          )
        }
      )
    )
  })

  it("joins lines of data, and takes what has no name as a message", () => {
    assert.deepStrictEqual(readAll(["data: one\ndata:two\nretry: 5\n\n"]), [
      { event: "message", id: undefined, data: "one\ntwo" }
    ])
  })

  it("gives nothing for an event that has not ended", () => {
    assert.deepStrictEqual(readAll(["event: delta\ndata: x\n"]), [])
  })
})
