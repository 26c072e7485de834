import { OwnerKeys } from "@berth/domain/ai/keys/OwnerKeys"
import { type StoredCredentialKey, type CredentialValues, modelCredentialKeys } from "@berth/domain/secrets/Credential"
import { CredentialRepository } from "@berth/domain/secrets/CredentialRepository"
import { CredentialVault } from "@berth/domain/secrets/CredentialVault"
import * as OwnerKeysFromVault from "@berth/domain/ai/keys/VaultOwnerKeys"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Redacted, Ref, TestClock } from "effect"
import { UserId } from "@berth/domain/shared/UserId"

const [ada, bob] = [UserId.make("usr_ada"), UserId.make("usr_bob")]

/** Credentials in memory, and the recorded reads; `around` wraps each read. */
const scene = (around: <A>(read: Effect.Effect<A>) => Effect.Effect<A> = (read) => read) =>
  Effect.gen(function* () {
    const kept = yield* Ref.make<ReadonlyMap<string, Redacted.Redacted>>(new Map())
    const reads = yield* Ref.make<ReadonlyArray<readonly [UserId, ReadonlyArray<StoredCredentialKey>]>>([])
    const repository = Layer.succeed(CredentialRepository, {
      set: (userId, key, value) => Ref.update(kept, (all) => new Map(all).set(`${userId} ${key}`, value)),
      listKeys: () => Effect.succeed([]),
      remove: (userId, keys) =>
        Ref.modify(kept, (all) => {
          const left = new Map(all)
          for (const key of keys) left.delete(`${userId} ${key}`)
          return [all.size - left.size, left]
        }),
      removeSince: () => Effect.void,
      decrypt: (userId, keys) =>
        Effect.gen(function* () {
          yield* Ref.update(reads, (before) => [...before, [userId, keys] as const])
          const all = yield* Ref.get(kept)
          const opened: { -readonly [K in keyof CredentialValues]: CredentialValues[K] } = {}
          for (const key of keys) {
            const value = all.get(`${userId} ${key}`)
            if (value !== undefined) opened[key] = value
          }
          return opened
        }).pipe(around)
    })
    const context = yield* Layer.build(
      Layer.provideMerge(OwnerKeysFromVault.layer, Layer.provideMerge(CredentialVault.Default, repository))
    )
    const keysOf = (userId: UserId) =>
      Effect.flatMap(OwnerKeys, ({ find }) => find(userId)).pipe(
        Effect.map((keys) => Object.entries(keys).map(([name, key]) => [name, Redacted.value(key)])),
        Effect.provide(context)
      )
    const set = (userId: UserId, key: string, value: string) =>
      Effect.flatMap(CredentialVault, (vault) => vault.set(userId, key, Redacted.make(value))).pipe(
        Effect.provide(context)
      )
    const remove = (userId: UserId) =>
      Effect.flatMap(CredentialVault, (vault) => vault.remove(userId, modelCredentialKeys)).pipe(
        Effect.provide(context)
      )
    const setElsewhere = (userId: UserId, key: StoredCredentialKey, value: string) =>
      Effect.flatMap(CredentialRepository, (stored) => stored.set(userId, key, Redacted.make(value))).pipe(
        Effect.provide(context)
      )
    return { keysOf, set, setElsewhere, remove, reads: Effect.map(Ref.get(reads), (all) => all.length) }
  })

describe("OwnerKeys from the vault", () => {
  it.scoped("VaultOwnerKeys returns the owner's model keys and no channel token", () =>
    Effect.gen(function* () {
      const { keysOf, set } = yield* scene()
      yield* set(ada, "openai", " sk-ada ")
      yield* set(ada, "telegram", "123:ada")
      yield* set(bob, "anthropic", "sk-bob")
      assert.deepStrictEqual(yield* keysOf(ada), [["openai", "sk-ada"]])
      assert.deepStrictEqual(yield* keysOf(bob), [["anthropic", "sk-bob"]])
      assert.deepStrictEqual(yield* keysOf(UserId.make("usr_none")), [])
    })
  )

  it.scoped("VaultOwnerKeys reads an owner's keys at most once in two seconds", () =>
    Effect.gen(function* () {
      const { keysOf, reads, set, setElsewhere } = yield* scene()
      yield* set(ada, "openai", "first")
      yield* Effect.replicateEffect(keysOf(ada), 50, { concurrency: "unbounded" })
      yield* setElsewhere(ada, "openai", "second")
      yield* TestClock.adjust("1999 millis")
      assert.deepStrictEqual([yield* keysOf(ada), yield* reads], [[["openai", "first"]], 1])
      yield* TestClock.adjust("2 millis")
      assert.deepStrictEqual([yield* keysOf(ada), yield* reads], [[["openai", "second"]], 2])
    })
  )

  it.scoped("VaultOwnerKeys returns a key that this process has stored or removed from the next read on", () =>
    Effect.gen(function* () {
      const { keysOf, remove, set } = yield* scene()
      assert.deepStrictEqual(yield* keysOf(ada), [])
      yield* set(ada, "openai", "first")
      assert.deepStrictEqual(yield* keysOf(ada), [["openai", "first"]])
      yield* set(ada, "openai", "second")
      assert.deepStrictEqual(yield* keysOf(ada), [["openai", "second"]])
      yield* remove(ada)
      assert.deepStrictEqual(yield* keysOf(ada), [])
    })
  )

  it.scoped("VaultOwnerKeys reads again at once after a failure", () =>
    Effect.gen(function* () {
      const broken = yield* Ref.make(true)
      const { keysOf, set } = yield* scene((read) =>
        Effect.flatMap(Ref.get(broken), (is) => (is ? Effect.die("the database is away") : read))
      )
      yield* set(ada, "google", "key")
      assert.isTrue(Exit.isFailure(yield* Effect.exit(keysOf(ada))))
      yield* Ref.set(broken, false)
      assert.deepStrictEqual(yield* keysOf(ada), [["google", "key"]])
    })
  )

  it.scoped("VaultOwnerKeys returns keys to every waiting caller, also when the first has left", () =>
    Effect.gen(function* () {
      const [requested, go] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const { keysOf, reads, set } = yield* scene((read) =>
        Effect.zipRight(Deferred.succeed(requested, undefined), Effect.zipRight(Deferred.await(go), read))
      )
      yield* set(ada, "google", "key")
      const first = yield* Effect.forkDaemon(keysOf(ada))
      yield* Deferred.await(requested)
      const second = yield* Effect.forkDaemon(keysOf(ada))
      yield* Effect.yieldNow()
      yield* Fiber.interruptFork(first)
      yield* Effect.yieldNow()
      yield* Deferred.succeed(go, undefined)
      assert.deepStrictEqual([yield* Fiber.join(second), yield* reads], [[["google", "key"]], 1])
    })
  )
})
