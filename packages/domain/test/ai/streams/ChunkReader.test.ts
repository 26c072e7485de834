import { prependReader, readerFromValues, readLast } from "@berth/domain/ai/streams/ChunkReader"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"

it.effect("readerFromValues reads its values once, then the end", () =>
  Effect.gen(function* () {
    const read = readerFromValues([1, 2])
    assert.deepStrictEqual(yield* read, [1, 2])
    assert.isNull(yield* read)
    assert.isNull(yield* read)
    assert.strictEqual(yield* readLast(readerFromValues([1, 2])), 2)
  })
)

it.effect("prependReader reads the values before the rest", () =>
  Effect.gen(function* () {
    const read = prependReader([1], readerFromValues([2, 3]))
    assert.deepStrictEqual(yield* read, [1])
    assert.deepStrictEqual(yield* read, [2, 3])
    assert.isNull(yield* read)
  })
)
