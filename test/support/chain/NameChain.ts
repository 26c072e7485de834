import { Effect } from "effect"
import {
  type Address,
  concatHex,
  createTestClient,
  encodeAbiParameters,
  type Hex,
  http,
  labelhash,
  namehash,
  pad,
  parseAbi,
  publicActions,
  walletActions,
  zeroAddress,
  zeroHash
} from "viem"
import { mainnet } from "viem/chains"
import { startAnvil } from "./Anvil.ts"
import contracts from "./EnsContracts.json" with { type: "json" }
import fixtures from "./VerificationFixtures.json" with { type: "json" }

const registryAbi = parseAbi([
  "function setSubnodeOwner(bytes32 node, bytes32 label, address owner)",
  "function setSubnodeRecord(bytes32 node, bytes32 label, address owner, address resolver, uint64 ttl)"
])
const resolverAbi = parseAbi(["function setAddr(bytes32 node, address owner)"])
const reverseAbi = parseAbi(["function setName(string name)"])

const toAddress = (text: string): Address => `0x${text.slice(2)}`

/** A chain with the id of Ethereum and the contracts of ENS. A block is safe when one follows. */
export const startNameChain = Effect.gen(function* () {
  const url = yield* startAnvil(mainnet.id, "--slots-in-an-epoch", "1", "--auto-impersonate")
  const client = createTestClient({ mode: "anvil", chain: mainnet, transport: http(url), pollingInterval: 20 })
    .extend(publicActions)
    .extend(walletActions)
  const [account] = yield* Effect.promise(() => client.getAddresses())
  if (account === undefined) return yield* Effect.dieMessage("anvil has no account")

  const mined = (send: () => Promise<Hex>) =>
    Effect.promise(async () => client.waitForTransactionReceipt({ hash: await send() }))
  const makeSafe = Effect.promise(() => client.mine({ blocks: 2 }))
  const deploy = (bytecode: string, ...words: ReadonlyArray<Hex>) =>
    Effect.gen(function* () {
      const data = concatHex([`0x${bytecode}`, ...words])
      const { contractAddress } = yield* mined(() => client.sendTransaction({ account, data }))
      return contractAddress ?? (yield* Effect.dieMessage("not deployed"))
    })

  const registry = yield* deploy(contracts.bytecode.ENSRegistry)
  const resolver = yield* deploy(contracts.bytecode.PublicResolver, pad(registry))
  const reverse = yield* deploy(contracts.bytecode.ReverseRegistrar, pad(registry), pad(resolver))
  const universal = yield* deploy(fixtures.bytecode.TestUniversalResolver, pad(registry))
  const bytecode = yield* Effect.promise(() => client.getCode({ address: universal }))
  yield* Effect.promise(() =>
    client.setCode({ address: mainnet.contracts.ensUniversalResolver.address, bytecode: bytecode ?? "0x" })
  )

  const own = (parent: string, label: string, owner: Address) =>
    mined(() =>
      client.writeContract({
        account,
        address: registry,
        abi: registryAbi,
        functionName: "setSubnodeOwner",
        args: [parent === "" ? zeroHash : namehash(parent), labelhash(label), owner]
      })
    )
  yield* own("", "eth", account)
  yield* own("", "reverse", account)
  yield* own("reverse", "addr", reverse)

  /** Registers `<label>.eth` with a resolver. */
  const register = (name: string, at: Address) =>
    mined(() =>
      client.writeContract({
        account,
        address: registry,
        abi: registryAbi,
        functionName: "setSubnodeRecord",
        args: [namehash("eth"), labelhash(name.replace(/\.eth$/, "")), account, at, 0n]
      })
    )

  return {
    url,
    setPrimaryName: (wallet: string, name: string) =>
      Effect.promise(() => client.setBalance({ address: toAddress(wallet), value: 10n ** 18n })).pipe(
        Effect.zipRight(
          mined(() =>
            client.writeContract({
              account: toAddress(wallet),
              address: reverse,
              abi: reverseAbi,
              functionName: "setName",
              args: [name]
            })
          )
        ),
        Effect.zipRight(makeSafe)
      ),
    setAddress: (name: string, owner: string = zeroAddress) =>
      register(name, resolver).pipe(
        Effect.zipRight(
          mined(() =>
            client.writeContract({
              account,
              address: resolver,
              abi: resolverAbi,
              functionName: "setAddr",
              args: [namehash(name), toAddress(owner)]
            })
          )
        ),
        Effect.zipRight(makeSafe)
      ),
    setGateway: (name: string, gateway: string) =>
      deploy(fixtures.bytecode.TestOffchainResolver, encodeAbiParameters([{ type: "string" }], [gateway])).pipe(
        Effect.flatMap((address) => register(name, address)),
        Effect.zipRight(makeSafe)
      )
  }
})
export type NameChain = Effect.Effect.Success<typeof startNameChain>
