import { ChainUnreachable } from "@berth/domain/chain/Chain"
import { ChainTransaction, TransactionUnreadable } from "@berth/domain/gateway/payments/PaymentChain"
import { assert, layer } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { randomBytes } from "node:crypto"
import * as PaymentChainTest from "@berth/infra/tempo/PaymentChainTest"
import type { PaymentNetwork } from "@berth/infra/tempo/PaymentChainTest"
import { startTempoNetwork } from "../fakes/payments/TempoNetwork.ts"
import { eventually } from "../support/Eventually.ts"

class Network extends Context.Tag("@berth/test/PaymentNetwork")<Network, PaymentNetwork>() {}

const bytes = (length: number) => `0x${randomBytes(length).toString("hex")}`
const address = () => bytes(20)
const noHash = bytes(32)

/** Waits for the transaction to be final. */
const mined = (hash: string) =>
  Effect.flatMap(Network, ({ chain }) => eventually(chain.find(hash), ChainTransaction.$is("Mined")))

for (const [name, network] of [
  ["in memory", PaymentChainTest.make],
  ["of Tempo", startTempoNetwork]
] as const)
  layer(Layer.scoped(Network, network), { excludeTestServices: true })(`PaymentChain ${name}`, (it) => {
    it.effect(`PaymentChain ${name} reads the effects of a signed transaction without sending it`, () =>
      Effect.gen(function* () {
        const { chain, chainId, otherToken, sign, token } = yield* Network
        const [to, other, memo] = [address(), address(), bytes(32)]
        const raw = yield* sign([
          { to, amount: 50_000n, memo },
          { to: other, amount: 1n },
          { to, amount: 0n, token: otherToken }
        ])
        const read = yield* chain.decode(raw)
        assert.deepStrictEqual(read.transfers, [
          { token, to, amount: 50_000n, memo },
          { token, to: other, amount: 1n, memo: undefined },
          { token: otherToken, to, amount: 0n, memo: undefined }
        ])
        assert.strictEqual(read.chainId, chainId)
        assert.isFalse(read.needsFeePayer)
        assert.strictEqual((yield* chain.find(read.hash))._tag, "Unknown")
        assert.strictEqual((yield* chain.decode(read.raw)).hash, read.hash)
      })
    )

    it.effect(`PaymentChain ${name} reads chain, validity period and fee payer of a transaction`, () =>
      Effect.gen(function* () {
        const { chain, sign } = yield* Network
        const to = address()
        const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
        const odd = yield* chain.decode(
          yield* sign([{ to, amount: 1n }], { chainId: 4217, validAfter: now + 5, validBefore: now + 20 })
        )
        assert.deepInclude(odd, { chainId: 4217, validAfter: now + 5, validBefore: now + 20 })
        assert.isTrue((yield* chain.decode(yield* sign([{ to, amount: 1n }], { needsFeePayer: true }))).needsFeePayer)
      })
    )

    it.effect(`PaymentChain ${name} rejects bytes that are no transaction`, () =>
      Effect.gen(function* () {
        const { chain, sign } = yield* Network
        const raw = yield* sign([{ to: address(), amount: 1n }])
        for (const text of ["", "0x", "0x76", "0x76f8", bytes(200), `0x02${"ff".repeat(99)}`, raw.slice(0, -40), "x"])
          assert.instanceOf(yield* Effect.flip(chain.decode(text)), TransactionUnreadable)
      })
    )

    it.effect(`PaymentChain ${name} executes a transaction once, and returns its effects`, () =>
      Effect.gen(function* () {
        const { chain, sign, token } = yield* Network
        const [to, memo] = [address(), bytes(32)]
        const { hash, raw } = yield* chain.decode(
          yield* sign([
            { to, amount: 50_000n, memo },
            { to, amount: 7n }
          ])
        )
        assert.strictEqual(yield* chain.broadcast(raw), "taken")
        const transaction = yield* mined(hash)
        if (transaction._tag !== "Mined") return assert.fail("is not final")
        assert.isTrue(transaction.succeeded)
        assert.deepStrictEqual(
          transaction.transfers.filter((transfer) => transfer.to === to),
          [
            { token, to, amount: 50_000n, memo },
            { token, to, amount: 7n, memo: undefined }
          ]
        )
        yield* chain.broadcast(raw)
        assert.deepStrictEqual(yield* mined(hash), transaction)
      })
    )

    it.effect(`PaymentChain ${name} returns no effects of a reverted transaction`, () =>
      Effect.gen(function* () {
        const { chain, sign } = yield* Network
        const to = address()
        const { hash, raw } = yield* chain.decode(yield* sign([{ to, amount: 10n ** 15n }], { reverts: true }))
        assert.strictEqual(yield* chain.broadcast(raw), "taken")
        const transaction = yield* mined(hash)
        if (transaction._tag !== "Mined") return assert.fail("is not final")
        assert.isFalse(transaction.succeeded)
        assert.deepStrictEqual(
          transaction.transfers.filter((transfer) => transfer.to === to),
          []
        )
      })
    )

    it.effect(`PaymentChain ${name} rejects a transaction that its payer cannot pay`, () =>
      Effect.gen(function* () {
        const { chain, sign } = yield* Network
        const { hash, raw } = yield* chain.decode(yield* sign([{ to: address(), amount: 1n }], { isUnfunded: true }))
        assert.strictEqual(yield* chain.broadcast(raw), "refused")
        assert.strictEqual(yield* chain.broadcast("0x76f8"), "refused")
        assert.strictEqual((yield* chain.find(hash))._tag, "Unknown")
      })
    )

    it.effect(`PaymentChain ${name} returns none for an unknown transaction`, () =>
      Effect.gen(function* () {
        const { chain } = yield* Network
        assert.strictEqual((yield* chain.find(noHash))._tag, "Unknown")
      })
    )

    it.effect(`PaymentChain ${name} reads transactions without a node, and cannot look up any`, () =>
      Effect.gen(function* () {
        const { sign, withoutNode } = yield* Network
        const { hash, raw } = yield* withoutNode.decode(yield* sign([{ to: address(), amount: 1n }]))
        assert.instanceOf(yield* Effect.flip(withoutNode.find(hash)), ChainUnreachable)
        assert.instanceOf(yield* Effect.flip(withoutNode.broadcast(raw)), ChainUnreachable)
      })
    )
  })
