import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import * as IdGeneratorTest from "@berth/infra/crypto/IdGeneratorTest"
import * as UuidIdGenerator from "@berth/infra/crypto/UuidIdGenerator"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

const generators = [
  { name: "UuidIdGenerator", layer: UuidIdGenerator.layer, body: /^agt_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/ },
  { name: "IdGeneratorTest", layer: IdGeneratorTest.layer, body: /^agt_[0-9a-f]{32}$/ }
]

for (const { body, layer, name } of generators)
  describe(name, () => {
    it.live("IdGenerator returns a prefix and 32 hexadecimal digits, unique and in order of creation", () =>
      Effect.gen(function* () {
        const { next } = yield* IdGenerator
        const ids = yield* Effect.replicateEffect(next("agt"), 10_000)
        for (const id of ids) assert.match(id, body)
        assert.strictEqual(new Set(ids).size, ids.length)
        assert.deepStrictEqual([...ids].sort(), ids)
      }).pipe(Effect.provide(layer))
    )
  })
