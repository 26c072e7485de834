import { assert, describe, it } from "@effect/vitest"
import { Effect, FastCheck as fc } from "effect"
import { Readable, Writable } from "node:stream"
import { finished } from "node:stream/promises"
import { forwardLines } from "@berth/supervisor/programs/ChildProgram"

const chunks = fc.array(fc.string({ unit: fc.constantFrom("a", "ß", "🚢", "\n") }).map((it) => Buffer.from(it)))

/** Split anywhere, even within a character. */
const cut = (whole: Buffer, at: number) => [whole.subarray(0, at), whole.subarray(at)].filter((part) => part.length > 0)

describe("forwardLines", () => {
  it.effect.prop("forwardLines forwards all text in whole lines", [chunks, fc.nat()], ([parts, at]) =>
    Effect.gen(function* () {
      const whole = Buffer.concat(parts)
      const pieces: Array<string> = []
      const to = new Writable({
        write: (piece: Buffer, _encoding, done) => {
          pieces.push(piece.toString("utf8"))
          done()
        }
      })
      const from = Readable.from(cut(whole, whole.length === 0 ? 0 : at % whole.length), { objectMode: false })
      yield* Effect.promise(() => finished(forwardLines(from, to)))
      const text = whole.toString("utf8")
      assert.strictEqual(pieces.join(""), text === "" || text.endsWith("\n") ? text : `${text}\n`)
      assert.isTrue(pieces.every((piece) => piece.endsWith("\n")))
    })
  )
})
