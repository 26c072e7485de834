import { Effect } from "effect"
import {
  type Address,
  createTestClient,
  type Hex,
  http,
  parseAbi,
  publicActions,
  toHex,
  walletActions,
  zeroAddress
} from "viem"
import { mainnet } from "viem/chains"
import { packetToBytes } from "viem/ens"
import { startAnvil } from "./Anvil.ts"
import fixtures from "./VerificationFixtures.json" with { type: "json" }

const resolverAbi = parseAbi([
  "function setPrimaryName(bytes wallet, string name)",
  "function setAddress(bytes name, address owner)",
  "function setGateway(bytes name, string url)"
])

const toAddress = (text: string): Address => `0x${text.slice(2)}`

/** A chain with the id of Ethereum and a universal resolver of ENS. A block is safe when one follows. */
export const startNameChain = Effect.gen(function* () {
  const url = yield* startAnvil(mainnet.id, "--slots-in-an-epoch", "1")
  const client = createTestClient({ mode: "anvil", chain: mainnet, transport: http(url), pollingInterval: 20 })
    .extend(publicActions)
    .extend(walletActions)
  const [account] = yield* Effect.promise(() => client.getAddresses())
  if (account === undefined) return yield* Effect.dieMessage("anvil has no account")
  const { address } = mainnet.contracts.ensUniversalResolver
  yield* Effect.promise(() => client.setCode({ address, bytecode: `0x${fixtures.bytecode.TestUniversalResolver}` }))

  const mined = (send: () => Promise<Hex>) =>
    Effect.promise(async () => {
      await client.waitForTransactionReceipt({ hash: await send() })
      await client.mine({ blocks: 2 })
    })
  const contract = { account, address, abi: resolverAbi } as const
  const dns = (name: string) => toHex(packetToBytes(name))

  return {
    url,
    setPrimaryName: (wallet: string, name: string) =>
      mined(() =>
        client.writeContract({ ...contract, functionName: "setPrimaryName", args: [toAddress(wallet), name] })
      ),
    setAddress: (name: string, owner: string = zeroAddress) =>
      mined(() =>
        client.writeContract({ ...contract, functionName: "setAddress", args: [dns(name), toAddress(owner)] })
      ),
    setGateway: (name: string, gateway: string) =>
      mined(() => client.writeContract({ ...contract, functionName: "setGateway", args: [dns(name), gateway] }))
  }
})
export type NameChain = Effect.Effect.Success<typeof startNameChain>
