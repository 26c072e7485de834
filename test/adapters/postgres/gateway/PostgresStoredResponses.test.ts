import { StoredResponses } from "@berth/domain/gateway/responses/StoredResponses"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import * as PostgresStoredResponses from "@berth/infra/postgres/gateway/PostgresStoredResponses"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer, Option } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser, uniqueName } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.merge(PostgresStoredResponses.layer, PostgresUserRepository.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

layer(Live, { excludeTestServices: true })("StoredResponses", (it) => {
  it.effect("StoredResponses refuses a chain over its limit, and reads one that begins with a deleted response", () =>
    Effect.gen(function* () {
      const { findChain, remove, save } = yield* StoredResponses
      const { id: owner } = yield* insertUser()
      const name = yield* uniqueName("resp")
      const ids = Array.from({ length: 3 }, (_, index) => `${name}_${index}`)
      // Compresses to a small size on disk.
      const input = [{ role: "user", content: "a".repeat(9 * 1024 * 1024) }]
      for (const [index, id] of ids.entries())
        yield* save(owner, { id, previousId: ids[index - 1] ?? null, input, output: [id], response: {} })
      assert.strictEqual((yield* Effect.flip(findChain(owner, ids[2] ?? "")))._tag, "ResponseChainTooLong")
      const outputs = (id: string | undefined) =>
        Effect.map(findChain(owner, id ?? ""), (chain) => chain.flatMap(({ output }) => output))
      assert.deepStrictEqual(yield* outputs(ids[1]), ids.slice(0, 2))
      assert.isTrue(yield* remove(owner, ids[0] ?? ""))
      assert.deepStrictEqual(yield* outputs(ids[2]), ids.slice(1))
    })
  )

  it.effect("StoredResponses refuses to read outputs over the limit of a chain", () =>
    Effect.gen(function* () {
      const { findOutputs, save } = yield* StoredResponses
      const { id: owner } = yield* insertUser()
      const name = yield* uniqueName("resp")
      const [one, other] = [`${name}_1`, `${name}_2`]
      for (const id of [one, other])
        yield* save(owner, {
          id,
          previousId: null,
          input: [],
          output: [{ id, text: "a".repeat(9 * 1024 * 1024) }],
          response: {}
        })
      assert.lengthOf(yield* findOutputs(owner, [one, other, "resp_none"].slice(1)), 1)
      assert.strictEqual((yield* Effect.flip(findOutputs(owner, [one, other])))._tag, "ResponseChainTooLong")
    })
  )

  it.effect("StoredResponses deletes the oldest responses of an owner who has too many, and no other's", () =>
    Effect.gen(function* () {
      const { findOutputs, prune, save } = yield* StoredResponses
      const [owner, other] = yield* Effect.all([insertUser(), insertUser()])
      const name = yield* uniqueName("resp")
      const ids = ["old", "new", "other"].map((which) => `${name}_${which}`)
      for (const [index, user] of [owner, owner, other].entries())
        yield* save(user.id, { id: ids[index] ?? "", previousId: null, input: [], output: [], response: {} })
      yield* sql`update model_responses set created_at = created_at - interval '1 hour' where id = ${ids[0] ?? ""}`
      const longAgo = DateTime.unsafeMake("1900-01-01")
      // Random texts, which compress badly.
      yield* sql`
        update model_responses set input = (
          select jsonb_agg(md5(random()::text)) from generate_series(1, 300)
        ) where user_id = ${owner.id}`
      const kept = Effect.map(Effect.all([findOutputs(owner.id, ids), findOutputs(other.id, ids)]), ([own, others]) =>
        [...own, ...others].map(({ id }) => id).toSorted()
      )
      yield* prune(longAgo, 100_000)
      assert.deepStrictEqual(yield* kept, ids.toSorted())
      yield* prune(longAgo, 15_000)
      assert.deepStrictEqual(yield* kept, ids.slice(1).toSorted())
    })
  )

  it.effect("StoredResponses counts the instructions and tools of responses among the bytes of an owner", () =>
    Effect.gen(function* () {
      const { find, prune, save } = yield* StoredResponses
      const { id: owner } = yield* insertUser()
      const id = yield* uniqueName("resp")
      yield* save(owner, { id, previousId: null, input: [], output: [], response: { id } })
      yield* sql`
        update model_responses set response = response || jsonb_build_object('tools', (
          select jsonb_agg(md5(random()::text)) from generate_series(1, 1000)
        )) where id = ${id}`
      yield* prune(DateTime.unsafeMake("1900-01-01"), 20_000)
      assert.isTrue(Option.isNone(yield* find(owner, id)))
    })
  )

  it.effect("StoredResponses stores a response with U+0000 and an unpaired surrogate in the names of members", () =>
    Effect.gen(function* () {
      const { find, save } = yield* StoredResponses
      const { id: owner } = yield* insertUser()
      const id = yield* uniqueName("resp")
      const response = { id, metadata: { "a\u0000": "\u0000", "b\uD800": "\uD800", "c\\u0000": "😀\\ud800" } }
      yield* save(owner, { id, previousId: null, input: [], output: [], response })
      assert.deepStrictEqual(Option.getOrNull(yield* find(owner, id)), {
        id,
        output: [],
        metadata: { "a\uFFFD": "\uFFFD", "b\uFFFD": "\uFFFD", "c\\u0000": "😀\\ud800" }
      })
    })
  )
})
