import { ChainUnreachable } from "@berth/domain/chain/Chain"
import { maximumSignatureBytes, SmartWalletSignatures } from "@berth/domain/chain/SmartWalletSignatures"
import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { makeChainNode } from "@berth/infra/chain/ChainNode"
import * as ViemSmartWalletSignatures from "@berth/infra/chain/ViemSmartWalletSignatures"
import { assert, describe, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import type { Hex } from "viem"
import * as BaseChainTest from "@berth/infra/chain/BaseChainTest"
import { makePrivateKey, type SmartWallet } from "@berth/infra/chain/BaseChainTest"
import { startTestChain, wrapSignature } from "../support/chain/TestChain.ts"

type Signatures = Context.Tag.Service<SmartWalletSignatures>

/** An implementation that can create wallets and can lose its chain. */
interface Subject {
  readonly signatures: Signatures
  readonly withoutChain: Signatures
  readonly smartWallet: Effect.Effect<SmartWallet>
  readonly deployed: (wallet: SmartWallet) => Effect.Effect<unknown>
}
class TestSubject extends Context.Tag("@berth/test/Signatures")<TestSubject, Subject>() {}

const signaturesOf = (url: string) =>
  Effect.gen(function* () {
    const node = yield* makeChainNode({ chain: "base", url: Redacted.make(new URL(url)), timeout: "20 seconds" })
    const context = yield* Layer.build(ViemSmartWalletSignatures.layer({ base: node, ethereum: node }))
    return Context.get(context, SmartWalletSignatures)
  })

const viem: Effect.Effect<Subject, never, Scope.Scope> = Effect.gen(function* () {
  const chain = yield* startTestChain
  return {
    signatures: yield* signaturesOf(chain.url),
    withoutChain: yield* signaturesOf("http://127.0.0.1:1"),
    smartWallet: Effect.suspend(() => chain.smartWallet()),
    deployed: chain.deployed
  }
})

const inMemory: Effect.Effect<Subject, never, Scope.Scope> = Effect.gen(function* () {
  const [up, down] = [yield* BaseChainTest.make, yield* BaseChainTest.make]
  yield* down.setUp(false)
  return {
    signatures: up.signatures,
    withoutChain: down.signatures,
    smartWallet: Effect.suspend(() => up.smartWallet()),
    deployed: up.deployed
  }
})

const message = "localhost:3000 wants you to sign in with your Ethereum account: ä\n😀"

for (const [name, subject] of [
  ["in memory", inMemory],
  ["of a chain", viem]
] as const)
  layer(Layer.scoped(TestSubject, subject), { excludeTestServices: true })(`SmartWalletSignatures ${name}`, (it) => {
    const signed = (address: string, signature: string, text = message) => ({
      address: WalletAddress.make(address),
      message: text,
      signature,
      chain: "base" as const
    })

    it.effect(`SmartWalletSignatures ${name} accept an EOA signature without the chain`, () =>
      Effect.gen(function* () {
        const { signatures, withoutChain } = yield* TestSubject
        const key = makePrivateKey()
        const signature = yield* Effect.promise(() => key.signMessage({ message }))
        for (const one of [signatures, withoutChain])
          for (const address of [key.address, key.address.toLowerCase()])
            assert.strictEqual(yield* one.verify(signed(address, signature)), "valid")
      })
    )

    it.effect(`SmartWalletSignatures ${name} reject an EOA signature of another text or key, or modified`, () =>
      Effect.gen(function* () {
        const { signatures } = yield* TestSubject
        const [key, other] = [makePrivateKey(), makePrivateKey()]
        const [signature, others] = yield* Effect.promise(() =>
          Promise.all([key.signMessage({ message }), other.signMessage({ message })])
        )
        assert.strictEqual(yield* signatures.verify(signed(key.address, signature, `${message} `)), "invalid")
        for (const bad of [
          others,
          signature.slice(0, -2),
          `${signature}00`,
          `${signature}${signature.slice(2)}`,
          `0x${"00".repeat(65)}`,
          `0x${"ff".repeat(65)}`,
          `${signature.slice(0, 10)}${signature[10] === "0" ? "1" : "0"}${signature.slice(11)}`
        ])
          assert.strictEqual(yield* signatures.verify(signed(key.address, bad)), "invalid", bad)
      })
    )

    it.effect(`SmartWalletSignatures ${name} reject malformed and oversized signatures without the chain`, () =>
      Effect.gen(function* () {
        const { withoutChain } = yield* TestSubject
        const { address } = makePrivateKey()
        for (const bad of ["", "0x", "0", "signature", "0xabc", "0xzz", `0x${"00".repeat(maximumSignatureBytes + 1)}`])
          assert.strictEqual(yield* withoutChain.verify(signed(address, bad)), "invalid")
      })
    )

    it.effect(`SmartWalletSignatures ${name} accept the ERC-1271 signature of a deployed wallet`, () =>
      Effect.gen(function* () {
        const { deployed, signatures, smartWallet } = yield* TestSubject
        const wallet = yield* smartWallet
        yield* deployed(wallet)
        const [bare, wrapped, others] = yield* Effect.promise(() =>
          Promise.all([wallet.sign(message), wallet.signWrapped(message), makePrivateKey().signMessage({ message })])
        )
        assert.strictEqual(yield* signatures.verify(signed(wallet.address, bare)), "valid")
        assert.strictEqual(yield* signatures.verify(signed(wallet.address, wrapped)), "valid")
        assert.strictEqual(yield* signatures.verify(signed(wallet.address, bare, "another text")), "invalid")
        assert.strictEqual(yield* signatures.verify(signed(wallet.address, others)), "invalid")
      })
    )

    it.effect(`SmartWalletSignatures ${name} accept an ERC-6492 signature only with its factory call`, () =>
      Effect.gen(function* () {
        const { signatures, smartWallet } = yield* TestSubject
        const [wallet, other] = [yield* smartWallet, yield* smartWallet]
        const [bare, wrapped, others] = yield* Effect.promise(() =>
          Promise.all([wallet.sign(message), wallet.signWrapped(message), other.signWrapped(message)])
        )
        assert.strictEqual(yield* signatures.verify(signed(wallet.address, wrapped)), "valid")
        assert.strictEqual(yield* signatures.verify(signed(wallet.address, bare)), "invalid")
        assert.strictEqual(yield* signatures.verify(signed(wallet.address, others)), "invalid")
        assert.strictEqual(yield* signatures.verify(signed(wallet.address, wrapped, "another text")), "invalid")
        assert.strictEqual(yield* signatures.verify(signed(makePrivateKey().address, wrapped)), "invalid")
      })
    )

    it.effect(`SmartWalletSignatures ${name} reject a wrapped EOA signature`, () =>
      Effect.gen(function* () {
        const { signatures, smartWallet } = yield* TestSubject
        const wallet = yield* smartWallet
        const wrapped = yield* Effect.promise(() => wallet.signWrapped(message))
        assert.strictEqual(yield* signatures.verify(signed(wallet.owner.address, wrapped)), "invalid")
      })
    )

    it.effect(`SmartWalletSignatures ${name} fail with ChainUnreachable, never with invalid, during an outage`, () =>
      Effect.gen(function* () {
        const { smartWallet, withoutChain } = yield* TestSubject
        const wallet = yield* smartWallet
        const [bare, wrapped] = yield* Effect.promise(() =>
          Promise.all([wallet.sign(message), wallet.signWrapped(message)])
        )
        for (const signature of [bare, wrapped])
          assert.instanceOf(
            yield* Effect.flip(withoutChain.verify(signed(wallet.address, signature))),
            ChainUnreachable
          )
      })
    )
  })

describe("Signature contracts", () => {
  it.scopedLive("Signature contracts are not deployed by a verification", () =>
    Effect.gen(function* () {
      const chain = yield* startTestChain
      const signatures = yield* signaturesOf(chain.url)
      const wallet = yield* chain.smartWallet()
      const signature = yield* Effect.promise(() => wallet.signWrapped(message))
      const question = { address: wallet.address, message, signature, chain: "base" as const }
      assert.strictEqual(yield* signatures.verify(question), "valid")
      assert.isFalse(yield* chain.hasCode(`0x${wallet.address.slice(2)}`))
    })
  )

  it.scopedLive("Signature contracts that fail, loop or deploy another wallet make the signature invalid", () =>
    Effect.gen(function* () {
      const chain = yield* startTestChain
      const signatures = yield* signaturesOf(chain.url)
      const wallet = yield* chain.smartWallet()
      const inner = yield* Effect.promise(() => wallet.sign(message))
      const create = chain.factoryCall("create", wallet.owner.address)
      const nobody: Hex = `0x${"11".repeat(20)}`
      for (const wrapping of [
        chain.factoryCall("fail", wallet.owner.address),
        chain.factoryCall("loop", wallet.owner.address),
        chain.factoryCall("create", makePrivateKey().address),
        { ...create, factory: nobody },
        { ...create, call: "0x" as const }
      ])
        assert.strictEqual(
          yield* signatures.verify({
            address: wallet.address,
            message,
            signature: wrapSignature(inner, wrapping),
            chain: "base"
          }),
          "invalid",
          JSON.stringify(wrapping)
        )
    })
  )
})
