import { IdGenerator } from "@berth/domain/ids/IdGenerator"
import * as UuidIdGenerator from "@berth/infra/crypto/UuidIdGenerator"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"

describe("IdGenerator", () => {
  it.live("IdGenerator returns a prefix and a UUIDv7, unique and in order of creation", () =>
    Effect.gen(function* () {
      const { next } = yield* IdGenerator
      const ids = yield* Effect.replicateEffect(next("agt"), 10_000)
      for (const id of ids) assert.match(id, /^agt_[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$/)
      assert.strictEqual(new Set(ids).size, ids.length)
      assert.deepStrictEqual([...ids].sort(), ids)
    }).pipe(Effect.provide(UuidIdGenerator.layer))
  )
})
