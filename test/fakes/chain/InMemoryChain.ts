import { chainIds } from "@berth/domain/chain/Chain"
import { ChainUnreachable, TokenContractNotFound } from "@berth/domain/chain/ChainErrors"
import { maximumSignatureBytes, SmartWalletSignatures } from "@berth/domain/chain/SmartWalletSignatures"
import { TokenBalances } from "@berth/domain/chain/TokenBalances"
import { WalletAddress, normalizeWalletAddress } from "@berth/domain/chain/WalletAddress"
import { Effect, Layer, Ref } from "effect"
import { concatHex, getAddress, type Hex, isHex, keccak256, recoverMessageAddress, size, toHex } from "viem"
import { makePrivateKey, type SmartWallet } from "../../support/chain/TestChain.ts"

/** Ends a signature that says how its wallet is deployed; here that is naming the owner. */
const deploymentMark = keccak256(toHex("deployed by"))

const addressOf = (owner: string) => WalletAddress.make(getAddress(`0x${keccak256(toHex(owner)).slice(-40)}`))

const signerOf = (message: string, signature: Hex) =>
  Effect.promise(() =>
    recoverMessageAddress({ message, signature }).then(
      (signer) => signer.toLowerCase(),
      () => undefined
    )
  )

/** A chain that is only remembered: wallets with owners, deployed or not, balances, and whether it answers. */
export const make = Effect.gen(function* () {
  const owners = yield* Ref.make<ReadonlyMap<string, string>>(new Map())
  const balances = yield* Ref.make<ReadonlyMap<string, bigint>>(new Map())
  const isUp = yield* Ref.make(true)
  const asked = yield* Ref.make(0)
  const token = WalletAddress.make(getAddress(`0x${"70".repeat(20)}`))

  const ask = Effect.zipRight(
    Ref.update(asked, (times) => times + 1),
    Effect.filterOrFail(
      Ref.get(isUp),
      (up) => up,
      () => new ChainUnreachable({ reason: "it is switched off" })
    )
  )

  const signatures = SmartWalletSignatures.of({
    verify: ({ address, message, signature }) =>
      Effect.gen(function* () {
        if (!isHex(signature, { strict: true }) || signature === "0x" || signature.length % 2 === 1) return "invalid"
        if (size(signature) > maximumSignatureBytes) return "invalid"
        if (size(signature) === 65 && (yield* signerOf(message, signature)) === normalizeWalletAddress(address))
          return "valid"
        yield* ask
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
  })

  const tokenBalances = TokenBalances.of({
    balanceOf: ({ holder, token: asked }) =>
      Effect.gen(function* () {
        yield* ask
        if (normalizeWalletAddress(asked) !== normalizeWalletAddress(token)) return yield* new TokenContractNotFound()
        return (yield* Ref.get(balances)).get(normalizeWalletAddress(holder)) ?? 0n
      })
  })

  return {
    chainId: chainIds.base,
    token,
    layer: Layer.merge(Layer.succeed(SmartWalletSignatures, signatures), Layer.succeed(TokenBalances, tokenBalances)),
    setUp: (up: boolean) => Ref.set(isUp, up),
    /** How often it was asked. */
    asked: Ref.get(asked),
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
