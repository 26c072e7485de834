import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { transferGas } from "@berth/domain/wallets/payments/PaymentDispatch"
import { type PaymentAuthorization, WalletSigner } from "@berth/domain/wallets/payments/WalletSigner"
import { walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import { Effect, Layer, type Redacted } from "effect"
import { randomBytes } from "node:crypto"
import { encodeFunctionData, erc20Abi, keccak256, toHex } from "viem"
import { toViemAddress } from "./ChainNode.ts"
import { toAccount } from "./ViemWalletKeys.ts"

const { chainId, usdc } = walletNetwork

/** EIP-3009. */
const types = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" }
  ]
} as const

export const layer = Layer.succeed(
  WalletSigner,
  WalletSigner.of({
    signTransfer: (key, { amount, maxFeePerGas, maxPriorityFeePerGas, nonce, payee }) =>
      Effect.promise(async () => {
        const signed = await toAccount(key).signTransaction({
          type: "eip1559",
          chainId,
          to: toViemAddress(usdc.address),
          data: encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [toViemAddress(payee), amount] }),
          gas: transferGas,
          maxFeePerGas,
          maxPriorityFeePerGas,
          nonce
        })
        return { signed, reference: keccak256(signed), nonce, validBefore: null }
      }),
    signAuthorization: (key: Redacted.Redacted, { amount, payee, validBefore }: PaymentAuthorization) =>
      Effect.promise(async () => {
        const account = toAccount(key)
        const nonce = toHex(randomBytes(32))
        const to = toViemAddress(payee)
        const signature = await account.signTypedData({
          domain: { name: usdc.name, version: usdc.version, chainId, verifyingContract: toViemAddress(usdc.address) },
          types,
          primaryType: "TransferWithAuthorization",
          message: {
            from: account.address,
            to,
            value: amount,
            validAfter: 0n,
            validBefore: BigInt(validBefore),
            nonce
          }
        })
        return {
          from: WalletAddress.make(account.address),
          to: WalletAddress.make(to),
          value: amount,
          validAfter: 0,
          validBefore,
          nonce,
          signature
        }
      })
  })
)
