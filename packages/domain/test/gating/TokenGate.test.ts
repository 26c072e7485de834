import { ChainUnreachable, TokenContractNotFound } from "@berth/domain/chain/Chain"
import { TokenBalances } from "@berth/domain/chain/TokenBalances"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import {
  GatingCheckFailed,
  GatingNotConfigured,
  GatingSettings,
  type GatingToken,
  TokenGate
} from "@berth/domain/gating/TokenGate"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option, Ref, TestClock } from "effect"

const token: GatingToken = {
  address: WalletAddress.make(`0x${"70".repeat(20)}`),
  symbol: "SHIP",
  chain: "base",
  minBalance: 10n ** 24n
}
const one = WalletAddress.make(`0x${"Ab".repeat(20)}`)

const gateOver = (
  balance: Effect.Effect<bigint, ChainUnreachable | TokenContractNotFound>,
  gated = Option.some(token)
) =>
  Effect.gen(function* () {
    const requests = yield* Ref.make(0)
    const ports = Layer.merge(
      Layer.succeed(TokenBalances, {
        balanceOf: () =>
          Effect.zipRight(
            Ref.update(requests, (n) => n + 1),
            balance
          )
      }),
      Layer.succeed(GatingSettings, { token: gated, rpcEndpoint: "https://node.example" })
    )
    const gate = yield* Effect.provide(TokenGate, Layer.provide(TokenGate.Default, ports))
    const has = (address = one) => Effect.map(gate.check(address), ({ hasAccess }) => hasAccess)
    return { has, countRequests: Ref.get(requests) }
  })

describe("TokenGate", () => {
  it.effect("TokenGate grants access from the exact minimum balance on", () =>
    Effect.gen(function* () {
      for (const [balance, hasAccess] of [
        [0n, false],
        [token.minBalance - 1n, false],
        [token.minBalance, true],
        [2n ** 256n - 1n, true]
      ] as const) {
        const { has } = yield* gateOver(Effect.succeed(balance))
        assert.strictEqual(yield* has(), hasAccess, String(balance))
      }
    })
  )

  it.effect("TokenGate caches positive results for 60 s and negative ones for 10 s, for an address in any case", () =>
    Effect.gen(function* () {
      for (const [balance, seconds] of [
        [token.minBalance, 60],
        [0n, 10]
      ] as const) {
        const { countRequests, has } = yield* gateOver(Effect.succeed(balance))
        yield* has()
        yield* has(WalletAddress.make(one.toLowerCase()))
        yield* TestClock.adjust(`${seconds - 1} seconds`)
        yield* has()
        assert.strictEqual(yield* countRequests, 1)
        yield* TestClock.adjust("1001 millis")
        yield* has()
        assert.strictEqual(yield* countRequests, 2)
        yield* has(WalletAddress.make(`0x${"cd".repeat(20)}`))
        assert.strictEqual(yield* countRequests, 3)
      }
    })
  )

  it.effect("TokenGate caches no failure and never turns one into denied access", () =>
    Effect.gen(function* () {
      const answers = yield* Ref.make<ReadonlyArray<Effect.Effect<bigint, ChainUnreachable | TokenContractNotFound>>>([
        new ChainUnreachable({ reason: "timeout" }),
        new TokenContractNotFound(),
        Effect.succeed(token.minBalance)
      ])
      const next = Effect.flatten(
        Ref.modify(answers, ([first = Effect.succeed(0n), ...rest]) => [first, rest] as const)
      )
      const { countRequests, has } = yield* gateOver(next)
      assert.instanceOf(yield* Effect.flip(has()), GatingCheckFailed)
      assert.instanceOf(yield* Effect.flip(has()), GatingCheckFailed)
      assert.isTrue(yield* has())
      assert.strictEqual(yield* countRequests, 3)
    })
  )

  it.effect("TokenGate shares one call among concurrent checks, also when one is interrupted", () =>
    Effect.gen(function* () {
      const answer = yield* Deferred.make<bigint>()
      const { countRequests, has } = yield* gateOver(Deferred.await(answer))
      const first = yield* Effect.forkDaemon(has())
      const others = yield* Effect.forkDaemon(
        Effect.all(
          Array.from({ length: 50 }, () => has()),
          { concurrency: 50 }
        )
      )
      yield* Effect.yieldNow()
      const gone = yield* Effect.forkDaemon(Fiber.interrupt(first))
      yield* Effect.yieldNow()
      yield* Deferred.succeed(answer, token.minBalance)
      assert.deepStrictEqual(new Set(yield* Fiber.join(others)), new Set([true]))
      yield* Fiber.join(gone)
      assert.strictEqual(yield* countRequests, 1)
    })
  )

  it.effect("TokenGate fails with GatingNotConfigured without a token and makes no call", () =>
    Effect.gen(function* () {
      const { countRequests, has } = yield* gateOver(Effect.succeed(0n), Option.none())
      assert.instanceOf(yield* Effect.flip(has()), GatingNotConfigured)
      assert.strictEqual(yield* countRequests, 0)
    })
  )

  it.effect("TokenGate grants access with Layers of its two ports", () =>
    Effect.gen(function* () {
      const gate = yield* TokenGate
      assert.isTrue((yield* gate.check(one)).hasAccess)
    }).pipe(
      Effect.provide(TokenGate.Default),
      Effect.provide(Layer.succeed(TokenBalances, { balanceOf: () => Effect.succeed(token.minBalance) })),
      Effect.provide(Layer.succeed(GatingSettings, { token: Option.some(token), rpcEndpoint: "https://node.example" }))
    )
  )
})
