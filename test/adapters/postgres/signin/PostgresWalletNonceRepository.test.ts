import { Transaction } from "@berth/domain/persistence/Transaction"
import { WalletNonceRepository } from "@berth/domain/signin/wallets/WalletNonceRepository"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import * as PostgresWalletNonceRepository from "@berth/infra/postgres/signin/PostgresWalletNonceRepository"
import { assert, layer } from "@effect/vitest"
import { Data, DateTime, Effect, Layer } from "effect"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { uniqueName } from "../../../support/Samples.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"

const Live = Layer.merge(PostgresWalletNonceRepository.layer, PostgresTransaction.layer).pipe(
  Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer))
)

class UsedBefore extends Data.TaggedError("UsedBefore")<object> {}

const now = DateTime.unsafeMake("2026-03-01T12:00:00Z")
const later = DateTime.add(now, { hours: 1 })

/** Consumes hashes in the transaction of their effect. */
const use = (hashes: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { consume } = yield* WalletNonceRepository
    const { run } = yield* Transaction
    return yield* run(
      Effect.filterOrFail(
        consume(hashes, later),
        (isFirst) => isFirst,
        () => new UsedBefore()
      )
    ).pipe(Effect.isSuccess)
  })

layer(Live, { excludeTestServices: true })("WalletNonceRepository", (it) => {
  it.effect("WalletNonceRepository consumes a hash once, and several hashes together or not at all", () =>
    Effect.gen(function* () {
      const [a, b, c] = yield* Effect.all([uniqueName("a"), uniqueName("b"), uniqueName("c")])
      assert.isTrue(yield* use([a, b]))
      assert.isFalse(yield* use([a]))
      assert.isFalse(yield* use([c, b]))
      assert.isTrue(yield* use([c]))
    })
  )

  it.effect("WalletNonceRepository admits one of concurrent calls, whatever the order of their hashes", () =>
    Effect.gen(function* () {
      const [a, b] = yield* Effect.all([uniqueName("a"), uniqueName("b")])
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? [a, b] : [b, a])),
        use,
        { concurrency: "unbounded" }
      )
      assert.strictEqual(outcomes.filter((isFirst) => isFirst).length, 1)
    })
  )

  it.effect("WalletNonceRepository removes only expired nonces", () =>
    Effect.gen(function* () {
      const nonces = yield* WalletNonceRepository
      const [old, fresh] = yield* Effect.all([uniqueName("old"), uniqueName("fresh")])
      yield* nonces.removeExpired(later)
      yield* nonces.consume([old], now)
      yield* nonces.consume([fresh], later)
      assert.strictEqual(yield* nonces.removeExpired(now), 1)
      assert.isTrue(yield* use([old]))
      assert.isFalse(yield* use([fresh]))
    })
  )
})
