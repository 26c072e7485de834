import { ChainUnreachable, TokenContractNotFound } from "@berth/domain/chain/Chain"
import { TokenBalances } from "@berth/domain/chain/TokenBalances"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { makeChainNode } from "@berth/infra/chain/ChainNode"
import * as ViemTokenBalances from "@berth/infra/chain/ViemTokenBalances"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import type { Address } from "viem"
import * as BaseChainTest from "@berth/infra/chain/BaseChainTest"
import { makePrivateKey } from "@berth/infra/chain/BaseChainTest"
import { startTestChain } from "../support/chain/TestChain.ts"

type Balances = Context.Tag.Service<TokenBalances>

interface Subject {
  readonly balances: Balances
  readonly withoutChain: Balances
  readonly token: WalletAddress
  readonly mint: (to: Address, amount: bigint) => Effect.Effect<unknown>
  /** Addresses that are not tokens. */
  readonly noTokens: ReadonlyArray<WalletAddress>
}
class TestSubject extends Context.Tag("@berth/test/LedgerBalances")<TestSubject, Subject>() {}

const balancesOf = (url: string) =>
  Effect.gen(function* () {
    const node = yield* makeChainNode({ chain: "base", url: Redacted.make(new URL(url)), timeout: "20 seconds" })
    return Context.get(yield* Layer.build(ViemTokenBalances.layer(node)), TokenBalances)
  })

const nobody = WalletAddress.make(`0x${"11".repeat(20)}`)

const viem: Effect.Effect<Subject, never, Scope.Scope> = Effect.gen(function* () {
  const chain = yield* startTestChain
  return {
    balances: yield* balancesOf(chain.url),
    withoutChain: yield* balancesOf("http://127.0.0.1:1"),
    token: chain.token,
    mint: chain.mint,
    noTokens: [nobody, chain.factory]
  }
})

const inMemory: Effect.Effect<Subject, never, Scope.Scope> = Effect.gen(function* () {
  const [up, down] = [yield* BaseChainTest.make, yield* BaseChainTest.make]
  yield* down.setUp(false)
  return {
    balances: up.balances,
    withoutChain: down.balances,
    token: up.token,
    mint: up.mint,
    noTokens: [nobody]
  }
})

for (const [name, subject] of [
  ["in memory", inMemory],
  ["of a chain", viem]
] as const)
  layer(Layer.scoped(TestSubject, subject), { excludeTestServices: true })(`TokenBalances ${name}`, (it) => {
    it.effect(`TokenBalances ${name} are exact bigints for an address in any case`, () =>
      Effect.gen(function* () {
        const { balances, mint, token } = yield* TestSubject
        const { address } = makePrivateKey()
        const of = (holder: string, requested: string = token) =>
          balances.balanceOf({
            chain: "base",
            token: WalletAddress.make(requested),
            holder: WalletAddress.make(holder)
          })
        assert.strictEqual(yield* of(address), 0n)
        const amount = 2n ** 200n + 1n
        yield* mint(address, amount)
        const digits = address.slice(2)
        for (const holder of [address, `0x${digits.toLowerCase()}`, `0x${digits.toUpperCase()}`])
          assert.strictEqual(yield* of(holder), amount)
        assert.strictEqual(yield* of(address, token.toLowerCase()), amount)
        assert.strictEqual(yield* of(makePrivateKey().address), 0n)
      })
    )

    it.effect(`TokenBalances ${name} fail with TokenContractNotFound without a token contract`, () =>
      Effect.gen(function* () {
        const { balances, noTokens } = yield* TestSubject
        const holder = WalletAddress.make(makePrivateKey().address)
        for (const token of noTokens)
          assert.instanceOf(
            yield* Effect.flip(balances.balanceOf({ chain: "base", token, holder })),
            TokenContractNotFound
          )
      })
    )

    it.effect(`TokenBalances ${name} fail with ChainUnreachable during an outage`, () =>
      Effect.gen(function* () {
        const { token, withoutChain } = yield* TestSubject
        const holder = WalletAddress.make(makePrivateKey().address)
        const error = yield* Effect.flip(withoutChain.balanceOf({ chain: "base", token, holder }))
        assert.instanceOf(error, ChainUnreachable)
      })
    )
  })
