import { makeLineWriter } from "@berth/infra/telemetry/JsonLogger"
import { assert, describe, it } from "@effect/vitest"

const makeSink = () => {
  const written: Array<string> = []
  return { written, write: (text: string) => written.push(text) }
}

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

describe("the writer of lines", () => {
  it("LineWriter writes the lines of one tick together, complete and in order", async () => {
    const sink = makeSink()
    const writer = makeLineWriter(sink)
    writer.add("one")
    writer.add("two")
    assert.deepStrictEqual(sink.written, [])
    await nextTurn()
    writer.add("three")
    await nextTurn()
    assert.deepStrictEqual(sink.written, ["one\ntwo\n", "three\n"])
  })

  it("LineWriter.flush writes at once, and no line twice", async () => {
    const sink = makeSink()
    const writer = makeLineWriter(sink)
    writer.add("one")
    writer.flush()
    assert.deepStrictEqual(sink.written, ["one\n"])
    writer.flush()
    await nextTurn()
    assert.deepStrictEqual(sink.written, ["one\n"])
    writer.add("two")
    await nextTurn()
    assert.deepStrictEqual(sink.written, ["one\n", "two\n"])
  })
})
