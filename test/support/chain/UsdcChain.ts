import { walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import { Effect } from "effect"
import { createTestClient, type Hex, http, parseAbi, publicActions, walletActions } from "viem"
import { baseSepolia } from "viem/chains"
import { startAnvil } from "./Anvil.ts"
import fixtures from "./Fixtures.json" with { type: "json" }

const abi = parseAbi(["function mint(address to, uint256 value)", "function balanceOf(address) view returns (uint256)"])
const usdc: Hex = `0x${walletNetwork.usdc.address.slice(2)}`

/** A chain of base-sepolia's id, with USDC at its address. */
export const startUsdcChain = Effect.gen(function* () {
  const url = yield* startAnvil(walletNetwork.chainId)
  const client = createTestClient({ mode: "anvil", chain: baseSepolia, transport: http(url), pollingInterval: 20 })
    .extend(publicActions)
    .extend(walletActions)
  const code: Hex = `0x${fixtures.runtimeBytecode.TestUsdc}`
  yield* Effect.promise(() => client.setCode({ address: usdc, bytecode: code }))
  const [account] = yield* Effect.promise(() => client.getAddresses())
  if (account === undefined) return yield* Effect.dieMessage("anvil has no account")
  return {
    url,
    /** Gives a wallet one ETH and ten USDC. */
    fund: (address: string) =>
      Effect.promise(async () => {
        const to: Hex = `0x${address.slice(2)}`
        await client.setBalance({ address: to, value: 10n ** 18n })
        const hash = await client.writeContract({
          account,
          address: usdc,
          abi,
          functionName: "mint",
          args: [to, 10_000_000n]
        })
        await client.waitForTransactionReceipt({ hash })
      }),
    balanceOf: (address: Hex) =>
      Effect.promise(() => client.readContract({ address: usdc, abi, functionName: "balanceOf", args: [address] })),
    /** Transactions that the address has sent and the chain has mined. */
    countMined: (address: string) =>
      Effect.promise(() => client.getTransactionCount({ address: `0x${address.slice(2)}` }))
  }
})
export type UsdcChain = Effect.Effect.Success<typeof startUsdcChain>
