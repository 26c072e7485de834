import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { WalletChain } from "@berth/domain/wallets/WalletChain"
import { walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import * as WalletsWiring from "@berth/infra/wiring/WalletsWiring"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { makeFakeChainNode, respondRpcResult } from "../fakes/chain/FakeChainNode.ts"
import { startAnvil } from "../support/chain/Anvil.ts"

const rich = WalletAddress.make("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")

const onChain = <A, E>(url: string, use: (chain: WalletChain["Type"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(WalletChain, use).pipe(
    Effect.provide(
      WalletsWiring.layer({ rpcUrl: Redacted.make(new URL(url)), outboundAllowCidrs: [], cdp: Option.none() })
    )
  )

const readBalance = (url: string, address: WalletAddress) => onChain(url, (chain) => chain.readBalance(address))

describe("ViemWalletChain", () => {
  it.scopedLive("ViemWalletChain reads balances of a node of base-sepolia", () =>
    Effect.gen(function* () {
      const url = yield* startAnvil(walletNetwork.chainId)
      assert.strictEqual(yield* readBalance(url, rich), 10_000n * 10n ** 18n)
      assert.strictEqual(yield* readBalance(url, WalletAddress.make(`0x${"ab".repeat(20)}`)), 0n)
    })
  )

  it.scopedLive("ViemWalletChain reports a node of another chain and no node as unreachable", () =>
    Effect.gen(function* () {
      const lying = yield* makeFakeChainNode(() => undefined, "0x2105")
      for (const url of [lying.url, "http://127.0.0.1:1/"]) {
        const error = yield* Effect.flip(readBalance(url, rich))
        assert.strictEqual(error._tag, "ChainUnreachable")
      }
      assert.notInclude(yield* lying.requests, "eth_getBalance")
    })
  )

  it.scopedLive("ViemWalletChain reads the state of an authorization at the block whose time it compares", () =>
    Effect.gen(function* () {
      const validBefore = 2_000
      const block = { number: "0x64", timestamp: `0x${validBefore.toString(16)}`, transactions: [] }
      const node = yield* makeFakeChainNode(
        ({ id, method }, response) => {
          const result = method === "eth_call" ? `0x${"0".repeat(64)}` : block
          respondRpcResult(result)({ id, method }, response)
        },
        `0x${walletNetwork.chainId.toString(16)}`
      )
      const nonce = `0x${"12".repeat(32)}`
      const status = yield* onChain(node.url, (chain) => chain.findAuthorization(rich, nonce, validBefore))
      assert.strictEqual(status, "expired")
      assert.deepStrictEqual(yield* node.blocks, ["0x64"])
    })
  )
})
