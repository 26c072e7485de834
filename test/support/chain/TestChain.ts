import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { makePrivateKey, type SmartWallet } from "@berth/infra/chain/BaseChainTest"
import { Effect, type Scope } from "effect"
import {
  type Address,
  createWalletClient,
  encodeFunctionData,
  type Hex,
  http,
  parseAbi,
  publicActions,
  serializeErc6492Signature
} from "viem"
import { base } from "viem/chains"
import { startBaseAnvil } from "./Anvil.ts"
import fixtures from "./Fixtures.json" with { type: "json" }

/* Test contracts. Fixtures.json is the compiled Fixtures.sol. */

const factoryAbi = parseAbi([
  "function create(address owner) returns (address)",
  "function predict(address owner) view returns (address)",
  "function fail(address owner) pure returns (address)",
  "function loop(address owner) pure returns (address)"
])
const tokenAbi = parseAbi(["function mint(address to, uint256 amount)"])

/** Wraps a signature with the wallet's factory and its call (ERC-6492). */
interface SignatureWrapping {
  readonly factory: Address
  readonly call: Hex
}
export const wrapSignature = (signature: Hex, { call, factory }: SignatureWrapping): Hex =>
  serializeErc6492Signature({ address: factory, data: call, signature })

const make = Effect.gen(function* () {
  const url = yield* startBaseAnvil
  const wallet = createWalletClient({ chain: base, transport: http(url), pollingInterval: 20 }).extend(publicActions)
  const [account] = yield* Effect.promise(() => wallet.getAddresses())
  if (account === undefined) return yield* Effect.dieMessage("anvil has no account")

  const mined = (hash: Hex) => Effect.promise(() => wallet.waitForTransactionReceipt({ hash }))
  const deploy = (bytecode: string) =>
    Effect.gen(function* () {
      const hash = yield* Effect.promise(() => wallet.sendTransaction({ account, data: `0x${bytecode}` }))
      const { contractAddress } = yield* mined(hash)
      return contractAddress ?? (yield* Effect.dieMessage("not deployed"))
    })

  const factory = yield* deploy(fixtures.bytecode.TestFactory)
  const token = yield* deploy(fixtures.bytecode.TestToken)
  const factoryCall = (functionName: "create" | "fail" | "loop", owner: Address): SignatureWrapping => ({
    factory,
    call: encodeFunctionData({ abi: factoryAbi, functionName, args: [owner] })
  })

  /** Not deployed yet. */
  const smartWallet = (owner = makePrivateKey()) =>
    Effect.map(
      Effect.promise(() =>
        wallet.readContract({ address: factory, abi: factoryAbi, functionName: "predict", args: [owner.address] })
      ),
      (address): SmartWallet => ({
        address: WalletAddress.make(address),
        owner,
        sign: (message) => owner.signMessage({ message }),
        signWrapped: async (message) =>
          wrapSignature(await owner.signMessage({ message }), factoryCall("create", owner.address))
      })
    )

  return {
    url,
    token: WalletAddress.make(token),
    /** An address that is not a token. */
    factory: WalletAddress.make(factory),
    factoryCall,
    smartWallet,
    deployed: ({ owner }: SmartWallet) =>
      Effect.promise(() =>
        wallet.writeContract({
          account,
          address: factory,
          abi: factoryAbi,
          functionName: "create",
          args: [owner.address]
        })
      ).pipe(Effect.flatMap(mined)),
    hasCode: (address: Address) =>
      Effect.map(
        Effect.promise(() => wallet.getCode({ address })),
        (code) => code !== undefined
      ),
    mint: (to: Address, amount: bigint) =>
      Effect.promise(() =>
        wallet.writeContract({ account, address: token, abi: tokenAbi, functionName: "mint", args: [to, amount] })
      ).pipe(Effect.flatMap(mined))
  }
})

/** A chain with a wallet factory and a token for the scope. */
export const startTestChain: Effect.Effect<Effect.Effect.Success<typeof make>, never, Scope.Scope> = make
export type TestChain = Effect.Effect.Success<typeof make>
