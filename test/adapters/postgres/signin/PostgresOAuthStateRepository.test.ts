import { OAuthStateRepository } from "@berth/domain/signin/oauth/OAuthStateRepository"
import * as PostgresOAuthStateRepository from "@berth/infra/postgres/signin/PostgresOAuthStateRepository"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { uniqueName } from "../../../support/Samples.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = PostgresOAuthStateRepository.layer.pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const now = DateTime.unsafeMake("2026-03-01T12:00:00Z")
const later = DateTime.add(now, { minutes: 10 })

layer(Live, { excludeTestServices: true })("OAuthStateRepository", (it) => {
  it.effect("OAuthStateRepository consumes a state once under concurrent calls", () =>
    Effect.gen(function* () {
      const { consume } = yield* OAuthStateRepository
      const [hash, other] = [yield* uniqueName("hash"), yield* uniqueName("hash")]
      const outcomes = yield* Effect.replicateEffect(consume(hash, later), 20, { concurrency: "unbounded" })
      assert.strictEqual(outcomes.filter((isFirst) => isFirst).length, 1)
      assert.isFalse(yield* consume(hash, later))
      assert.isTrue(yield* consume(other, later))
    })
  )

  it.effect("OAuthStateRepository removes only expired states", () =>
    Effect.gen(function* () {
      const { removeExpired, consume } = yield* OAuthStateRepository
      yield* removeExpired(later)
      const [old, fresh] = [yield* uniqueName("old"), yield* uniqueName("fresh")]
      yield* consume(old, now)
      yield* consume(fresh, later)
      assert.strictEqual(yield* removeExpired(now), 1)
      assert.isTrue(yield* consume(old, later))
      assert.isFalse(yield* consume(fresh, later))
    })
  )
})
