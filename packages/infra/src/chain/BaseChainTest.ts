import { chainIds, ChainUnreachable, TokenContractNotFound } from "@berth/domain/chain/Chain"
import { maximumSignatureBytes, SmartWalletSignatures } from "@berth/domain/chain/SmartWalletSignatures"
import { TokenBalances } from "@berth/domain/chain/TokenBalances"
import { WalletAddress, normalizeWalletAddress } from "@berth/domain/chain/WalletAddress"
import { Effect, Ref } from "effect"
import {
  concatHex,
  getAddress,
  type Hex,
  isHex,
  keccak256,
  type PrivateKeyAccount,
  recoverMessageAddress,
  size,
  toHex
} from "viem"
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts"
import { makeTestPort } from "../testing/TestPort.ts"

/** A wallet contract with its owner's key. */
export interface SmartWallet {
  readonly address: WalletAddress
  readonly owner: PrivateKeyAccount
  /** Signs for a deployed wallet. */
  readonly sign: (message: string) => Promise<Hex>
  /** Signs with the deployment of the wallet (ERC-6492). */
  readonly signWrapped: (message: string) => Promise<Hex>
}

/** Makes an externally owned account. */
export const makePrivateKey = (): PrivateKeyAccount => privateKeyToAccount(generatePrivateKey())

type BaseChainCall =
  | { readonly method: "verify"; readonly address: WalletAddress }
  | { readonly method: "balanceOf"; readonly holder: WalletAddress; readonly token: WalletAddress }

interface BaseChainBehavior {
  readonly verify: SmartWalletSignatures["Type"]["verify"]
  readonly balanceOf: TokenBalances["Type"]["balanceOf"]
}

/** Suffix of a signature that deploys its wallet. */
const deploymentMark = keccak256(toHex("deployed by"))

const addressOf = (owner: string) => WalletAddress.make(getAddress(`0x${keccak256(toHex(owner)).slice(-40)}`))

const signerOf = (message: string, signature: Hex) =>
  Effect.promise(() =>
    recoverMessageAddress({ message, signature }).then(
      (signer) => signer.toLowerCase(),
      () => undefined
    )
  )

/** A chain in memory: smart wallets, balances of one token, and outages. */
export const make = Effect.gen(function* () {
  const owners = yield* Ref.make<ReadonlyMap<string, string>>(new Map())
  const balances = yield* Ref.make<ReadonlyMap<string, bigint>>(new Map())
  const isUp = yield* Ref.make(true)
  const requests = yield* Ref.make(0)
  const token = WalletAddress.make(getAddress(`0x${"70".repeat(20)}`))

  const request = Effect.zipRight(
    Ref.update(requests, (count) => count + 1),
    Effect.filterOrFail(
      Ref.get(isUp),
      (up) => up,
      () => new ChainUnreachable({ reason: "the node is down" })
    )
  )

  const verify: BaseChainBehavior["verify"] = ({ address, message, signature }) =>
    Effect.gen(function* () {
      if (!isHex(signature, { strict: true }) || signature === "0x" || signature.length % 2 === 1) return "invalid"
      if (size(signature) > maximumSignatureBytes) return "invalid"
      if (size(signature) === 65 && (yield* signerOf(message, signature)) === normalizeWalletAddress(address))
        return "valid"
      yield* request
      const isWrapped = signature.endsWith(deploymentMark.slice(2))
      const inner: Hex = isWrapped ? `0x${signature.slice(2, 2 + 130)}` : signature
      if (size(inner) !== 65) return "invalid"
      const signer = yield* signerOf(message, inner)
      if (signer === undefined) return "invalid"
      const owner = (yield* Ref.get(owners)).get(normalizeWalletAddress(address))
      if (owner !== undefined) return owner === signer ? "valid" : "invalid"
      return isWrapped && normalizeWalletAddress(addressOf(signer)) === normalizeWalletAddress(address)
        ? "valid"
        : "invalid"
    })

  const balanceOf: BaseChainBehavior["balanceOf"] = ({ holder, token: contract }) =>
    Effect.gen(function* () {
      yield* request
      if (normalizeWalletAddress(contract) !== normalizeWalletAddress(token)) return yield* new TokenContractNotFound()
      return (yield* Ref.get(balances)).get(normalizeWalletAddress(holder)) ?? 0n
    })

  const { handle, run } = yield* makeTestPort<BaseChainCall, BaseChainBehavior>({ verify, balanceOf })

  return {
    ...handle,
    chainId: chainIds.base,
    token,
    signatures: SmartWalletSignatures.of({
      verify: (signed) => run({ method: "verify", address: signed.address }, (its) => its.verify(signed))
    }),
    balances: TokenBalances.of({
      balanceOf: (query) =>
        run({ method: "balanceOf", holder: query.holder, token: query.token }, (its) => its.balanceOf(query))
    }),
    setUp: (up: boolean) => Ref.set(isUp, up),
    /** Number of requests to the node. */
    requestCount: Ref.get(requests),
    smartWallet: (owner = makePrivateKey()): Effect.Effect<SmartWallet> => {
      const sign = (message: string) => owner.signMessage({ message })
      return Effect.succeed({
        address: addressOf(owner.address.toLowerCase()),
        owner,
        sign,
        signWrapped: async (message) => concatHex([await sign(message), deploymentMark])
      })
    },
    deployed: ({ address, owner }: SmartWallet) =>
      Ref.update(
        owners,
        (known) => new Map([...known, [normalizeWalletAddress(address), owner.address.toLowerCase()]])
      ),
    mint: (to: string, amount: bigint) =>
      Ref.update(balances, (known) => {
        const key = to.toLowerCase()
        return new Map([...known, [key, (known.get(key) ?? 0n) + amount]])
      })
  }
})
