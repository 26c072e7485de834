import { OAuthStateRepository } from "@berth/domain/signin/OAuthStateRepository"
import * as PostgresOAuthStateRepository from "@berth/infra/postgres/OAuthStateRepository"
import { assert, layer } from "@effect/vitest"
import { DateTime, Effect, Layer } from "effect"
import * as MigratedDatabase from "../support/MigratedDatabase.ts"
import { unique } from "../support/Samples.ts"
import * as TestSecrets from "../support/TestSecrets.ts"

const Live = PostgresOAuthStateRepository.layer.pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

const now = DateTime.unsafeMake("2026-03-01T12:00:00Z")
const later = DateTime.add(now, { minutes: 10 })

layer(Live, { excludeTestServices: true })("OAuthStateRepository", (it) => {
  it.effect("lets a state be used once, of however many at once", () =>
    Effect.gen(function* () {
      const { spend } = yield* OAuthStateRepository
      const [hash, other] = [yield* unique("hash"), yield* unique("hash")]
      const outcomes = yield* Effect.replicateEffect(spend(hash, later), 20, { concurrency: "unbounded" })
      assert.strictEqual(outcomes.filter((isFirst) => isFirst).length, 1)
      assert.isFalse(yield* spend(hash, later))
      assert.isTrue(yield* spend(other, later))
    })
  )

  it.effect("forgets what has expired and nothing else", () =>
    Effect.gen(function* () {
      const { removeExpired, spend } = yield* OAuthStateRepository
      yield* removeExpired(later)
      const [old, fresh] = [yield* unique("old"), yield* unique("fresh")]
      yield* spend(old, now)
      yield* spend(fresh, later)
      assert.strictEqual(yield* removeExpired(now), 1)
      assert.isTrue(yield* spend(old, later))
      assert.isFalse(yield* spend(fresh, later))
    })
  )
})
