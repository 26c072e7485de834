import { WalletRepository } from "@berth/domain/signin/wallets/WalletRepository"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { Transaction } from "@berth/domain/persistence/Transaction"
import * as PostgresTransaction from "@berth/infra/postgres/persistence/PostgresTransaction"
import * as PostgresUserRepository from "@berth/infra/postgres/accounts/PostgresUserRepository"
import * as PostgresWalletRepository from "@berth/infra/postgres/signin/PostgresWalletRepository"
import { assert, layer } from "@effect/vitest"
import { DateTime, Deferred, Effect, Fiber, Layer, Option, Ref } from "effect"
import { randomBytes } from "node:crypto"
import { getAddress } from "viem"
import * as MigratedDatabase from "../../../support/MigratedDatabase.ts"
import { insertUser } from "../../../support/Samples.ts"
import { sql } from "../../../support/Sql.ts"
import * as TestSecrets from "../../../support/TestSecrets.ts"
import { UserId } from "@berth/domain/shared/UserId"

const Live = Layer.mergeAll(
  PostgresWalletRepository.layer,
  PostgresUserRepository.layer,
  PostgresTransaction.layer
).pipe(Layer.provideMerge(Layer.merge(MigratedDatabase.layer, TestSecrets.layer)))

const newAddress = Effect.sync(() => WalletAddress.make(getAddress(`0x${randomBytes(20).toString("hex")}`)))
const at = (seconds: number) => DateTime.unsafeMake(1_772_366_400_000 + seconds * 1000)
const lower = (address: WalletAddress) => WalletAddress.make(address.toLowerCase())

layer(Live, { excludeTestServices: true })("WalletRepository", (it) => {
  it.effect("WalletRepository finds a wallet by address in any case, lists oldest first, and removes one", () =>
    Effect.gen(function* () {
      const wallets = yield* WalletRepository
      const [user, other] = yield* Effect.all([insertUser(), insertUser()])
      const [a, b, c] = yield* Effect.all([newAddress, newAddress, newAddress])
      const wallet = (address: WalletAddress, userId: UserId, seconds: number) => ({
        address,
        userId,
        linkedAt: at(seconds)
      })
      const [first, second, foreign] = [wallet(a, user.id, 2), wallet(b, user.id, 1), wallet(c, other.id, 0)]
      for (const one of [first, second, foreign]) yield* wallets.insert(one)
      assert.deepStrictEqual(yield* wallets.find(lower(a)), Option.some(first))
      assert.deepStrictEqual(yield* wallets.find(yield* newAddress), Option.none())
      assert.deepStrictEqual(yield* wallets.listByUser(user.id), [second, first])
      assert.deepStrictEqual(yield* wallets.listByUser(UserId.make("usr_none\u0000")), [])
      yield* wallets.remove(lower(b))
      assert.deepStrictEqual(yield* wallets.listByUser(user.id), [first])
      assert.deepStrictEqual(yield* wallets.listByUser(other.id), [foreign])
    })
  )

  it.effect("WalletRepository stores an address once in any case and removes wallets with their user", () =>
    Effect.gen(function* () {
      const wallets = yield* WalletRepository
      const [user, other] = yield* Effect.all([insertUser(), insertUser()])
      const address = yield* newAddress
      yield* wallets.insert({ address, userId: user.id, linkedAt: at(0) })
      const again = yield* Effect.exit(wallets.insert({ address: lower(address), userId: other.id, linkedAt: at(1) }))
      assert.isTrue(again._tag === "Failure")
      yield* sql`delete from users where id = ${user.id}`
      assert.deepStrictEqual(yield* wallets.find(address), Option.none())
    })
  )

  it.effect("WalletRepository locks an address in any case, or a user, exclusively", () =>
    Effect.gen(function* () {
      const { lockAddress, lockOwner } = yield* WalletRepository
      const { run } = yield* Transaction
      const { id } = yield* insertUser()
      const address = yield* newAddress
      for (const [hold, holdToo] of [
        [lockAddress(address), lockAddress(lower(address))],
        [lockOwner(id), lockOwner(id)]
      ] as const) {
        const order = yield* Ref.make<ReadonlyArray<string>>([])
        const say = (what: string) => Ref.update(order, (steps) => [...steps, what])
        const [held, goOn] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
        const first = yield* Effect.forkDaemon(
          run(
            Effect.all([hold, Deferred.succeed(held, undefined), Deferred.await(goOn), say("first")], { discard: true })
          )
        )
        yield* Deferred.await(held)
        const second = yield* Effect.forkDaemon(run(Effect.zipRight(holdToo, say("second"))))
        yield* run(lockAddress(yield* newAddress))
        yield* Deferred.succeed(goOn, undefined)
        yield* Fiber.join(first)
        yield* Fiber.join(second)
        assert.deepStrictEqual(yield* order, ["first", "second"])
      }
    })
  )
})
