import { walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import { Deferred, Effect } from "effect"
import { createServer, type IncomingMessage } from "node:http"
import { text } from "node:stream/consumers"
import { createTestClient, type Hex, http, parseAbi, publicActions, walletActions } from "viem"
import { baseSepolia } from "viem/chains"
import { parseJsonObject } from "../HttpCall.ts"
import { listenLocally } from "../LocalServer.ts"
import { startAnvil } from "./Anvil.ts"
import fixtures from "./Fixtures.json" with { type: "json" }

const abi = parseAbi(["function mint(address to, uint256 value)", "function balanceOf(address) view returns (uint256)"])
const usdc: Hex = `0x${walletNetwork.usdc.address.slice(2)}`

/** A chain with the id of base-sepolia and USDC at its address. */
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
    /** Number of mined transactions of the address. */
    countMined: (address: string) =>
      Effect.promise(() => client.getTransactionCount({ address: `0x${address.slice(2)}` }))
  }
})
export type UsdcChain = Effect.Effect.Success<typeof startUsdcChain>

/** A proxy of a node that loses the response to the first transaction. */
export const startLossyNode = (nodeUrl: string) =>
  Effect.gen(function* () {
    const lost = yield* Deferred.make<void>()
    const sent: Array<unknown> = []
    const forward = async (request: IncomingMessage) => {
      const body = await text(request)
      const { method, params }: Readonly<Record<string, unknown>> = parseJsonObject(body)
      const headers = { "content-type": "application/json" }
      const answer = await fetch(nodeUrl, { method: "POST", headers, body }).then((response) => response.text())
      if (method !== "eth_sendRawTransaction") return answer
      sent.push(Array.isArray(params) ? params[0] : undefined)
      return sent.length === 1 ? undefined : answer
    }
    const server = createServer((request, response) => {
      forward(request).then(
        (answer) => {
          if (answer === undefined) Deferred.unsafeDone(lost, Effect.void)
          else response.writeHead(200, { "content-type": "application/json" }).end(answer)
        },
        () => response.destroy()
      )
    })
    const { origin } = yield* listenLocally(server)
    return {
      url: origin,
      /** Waits until the node has received the transaction whose response is lost. */
      lost: Deferred.await(lost),
      /** Raw transactions in order. */
      sent: Effect.sync((): ReadonlyArray<unknown> => [...sent])
    }
  })
export type LossyNode = Effect.Effect.Success<ReturnType<typeof startLossyNode>>
