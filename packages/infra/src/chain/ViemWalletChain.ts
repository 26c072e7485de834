import type { WalletAddress } from "@berth/domain/chain/WalletAddress"
import { type AuthorizationStatus, type TransactionStatus, WalletChain } from "@berth/domain/wallets/WalletChain"
import { walletNetwork } from "@berth/domain/wallets/WalletNetwork"
import { Effect, Layer } from "effect"
import { type BaseError, erc20Abi, type Hex, parseAbi, RpcRequestError, TransactionReceiptNotFoundError } from "viem"
import {
  estimateFeesPerGas,
  getBalance,
  getBlock,
  getTransactionCount,
  getTransactionReceipt,
  readContract,
  sendRawTransaction
} from "viem/actions"
import { type ChainNode, toViemAddress } from "./ChainNode.ts"

const toHex = (text: string): Hex => `0x${text.slice(2)}`
const usdc = toViemAddress(walletNetwork.usdc.address)
const authorizationAbi = parseAbi(["function authorizationState(address, bytes32) view returns (bool)"])

/** The node rejects the transaction: known, mined, underpriced or unfunded. */
const isRefusal = (error: BaseError): boolean => error.walk((cause) => cause instanceof RpcRequestError) !== null

export const layer = (node: ChainNode): Layer.Layer<WalletChain> =>
  Layer.succeed(
    WalletChain,
    WalletChain.of({
      readBalance: Effect.fn("WalletChain.readBalance")((address: WalletAddress) =>
        node.call((client) => getBalance(client, { address: toViemAddress(address) }))
      ),
      readUsdcBalance: Effect.fn("WalletChain.readUsdcBalance")((address: WalletAddress) =>
        node.call((client) =>
          readContract(client, {
            abi: erc20Abi,
            functionName: "balanceOf",
            address: usdc,
            args: [toViemAddress(address)]
          })
        )
      ),
      readFeesAndNonce: Effect.fn("WalletChain.readFeesAndNonce")((address: WalletAddress) =>
        node.call(async (client) => {
          const [nonce, { maxFeePerGas, maxPriorityFeePerGas }] = await Promise.all([
            getTransactionCount(client, { address: toViemAddress(address), blockTag: "pending" }),
            estimateFeesPerGas(client)
          ])
          return { nonce, maxFeePerGas, maxPriorityFeePerGas }
        })
      ),
      broadcast: Effect.fn("WalletChain.broadcast")((rawTransaction: string) =>
        node.call(
          (client) =>
            sendRawTransaction(client, { serializedTransaction: toHex(rawTransaction) }).then(() => "accepted"),
          (error) => (isRefusal(error) ? "refused" : undefined)
        )
      ),
      findTransactionStatus: Effect.fn("WalletChain.findTransactionStatus")((transactionHash: string) =>
        node.call<TransactionStatus>(
          (client) =>
            getTransactionReceipt(client, { hash: toHex(transactionHash) }).then(({ status }) =>
              status === "success" ? "succeeded" : "reverted"
            ),
          (error) => (error instanceof TransactionReceiptNotFoundError ? "unknown" : undefined)
        )
      ),
      findAuthorization: Effect.fn("WalletChain.findAuthorization")(
        (authorizer: WalletAddress, nonce: string, validBefore: number) =>
          node.call<AuthorizationStatus>(async (client) => {
            // One block for both, since another node of the provider can be behind; an authorization unused after its
            // expiry stays unused.
            const { number: blockNumber, timestamp } = await getBlock(client)
            const isUsed = await readContract(client, {
              abi: authorizationAbi,
              functionName: "authorizationState",
              address: usdc,
              args: [toViemAddress(authorizer), toHex(nonce)],
              blockNumber
            })
            if (isUsed) return "used"
            return timestamp >= BigInt(validBefore) ? "expired" : "open"
          })
      )
    })
  )
