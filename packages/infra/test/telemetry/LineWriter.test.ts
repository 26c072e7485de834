import { makeLineWriter } from "@berth/infra/telemetry/JsonLogger"
import { assert, describe, it } from "@effect/vitest"

const makeSink = () => {
  const written: Array<string> = []
  let onWrite = () => {}
  return {
    written,
    write: (text: string) => {
      written.push(text)
      onWrite()
    },
    nextWrite: () => new Promise<void>((resolve) => (onWrite = resolve))
  }
}

describe("the writer of lines", () => {
  it("LineWriter writes lines together, complete and in order", async () => {
    const sink = makeSink()
    const writer = makeLineWriter(sink)
    writer.add("one")
    writer.add("two")
    assert.deepStrictEqual(sink.written, [])
    await sink.nextWrite()
    writer.add("three")
    await sink.nextWrite()
    assert.deepStrictEqual(sink.written, ["one\ntwo\n", "three\n"])
  })

  it("LineWriter.flush writes at once, and no line twice", async () => {
    const sink = makeSink()
    const writer = makeLineWriter(sink)
    writer.add("one")
    writer.flush()
    assert.deepStrictEqual(sink.written, ["one\n"])
    writer.flush()
    assert.deepStrictEqual(sink.written, ["one\n"])
    writer.add("two")
    await sink.nextWrite()
    assert.deepStrictEqual(sink.written, ["one\n", "two\n"])
  })
})
