import {
  type BroadcastVerdict,
  ChainTransaction,
  PaymentChain,
  type TokenTransfer
} from "@berth/domain/gateway/payments/PaymentChain"
import { Effect, Layer } from "effect"
import {
  type BaseError,
  type Client,
  type Hex,
  isHex,
  type Log,
  parseEventLogs,
  RpcRequestError,
  TransactionNotFoundError,
  TransactionReceiptNotFoundError
} from "viem"
import { getTransaction, getTransactionReceipt, sendRawTransaction } from "viem/actions"
import { Abis } from "viem/tempo"
import type { ChainNode } from "../chain/ChainNode.ts"
import { readTempoTransaction } from "./TempoTransaction.ts"

/** Returns the token transfers in a receipt. A transfer with a memo has two adjacent events; it is one transfer. */
const transfersIn = (logs: Array<Log>): ReadonlyArray<TokenTransfer> => {
  const events = parseEventLogs({ abi: Abis.tip20, eventName: ["Transfer", "TransferWithMemo"], logs })
  const keyOf = ({ address, args }: (typeof events)[number]) =>
    [address, args.from, args.to, args.amount].join(" ").toLowerCase()
  return events.flatMap((event, position) => {
    const hasMemo = [position - 1, position + 1].some((index) => {
      const neighbor = events[index]
      return neighbor?.eventName === "TransferWithMemo" && keyOf(neighbor) === keyOf(event)
    })
    if (event.eventName === "Transfer" && hasMemo) return []
    return [
      {
        token: event.address.toLowerCase(),
        to: event.args.to.toLowerCase(),
        amount: event.args.amount,
        memo: event.eventName === "TransferWithMemo" ? event.args.memo.toLowerCase() : undefined
      }
    ]
  })
}

const isNotThere = (error: BaseError): boolean =>
  error.walk(
    (cause) => cause instanceof TransactionReceiptNotFoundError || cause instanceof TransactionNotFoundError
  ) !== null

const receiptOf = async (client: Client, hash: Hex): Promise<ChainTransaction> => {
  const { logs, status } = await getTransactionReceipt(client, { hash })
  return ChainTransaction.Mined({ succeeded: status === "success", transfers: transfersIn(logs) })
}

const pendingOf = async (client: Client, hash: Hex): Promise<ChainTransaction> => {
  await getTransaction(client, { hash })
  return ChainTransaction.Pending()
}

const unknown = (error: BaseError) => (isNotThere(error) ? ChainTransaction.Unknown() : undefined)

// Error codes of rejected transactions: server error, invalid parameters, transaction rejected (EIP-1474).
const refusals = new Set([-32_000, -32_602, -32_003])
const knownAlready = /already (known|imported|exists)|known transaction/i

const verdictOn = (error: BaseError): BroadcastVerdict | undefined => {
  const answer = error.walk((cause) => cause instanceof RpcRequestError)
  if (!(answer instanceof RpcRequestError)) return undefined
  if (knownAlready.test(answer.details)) return "taken"
  return refusals.has(answer.code) ? "refused" : undefined
}

/**
 * A Tempo chain accessed through its JSON-RPC node. Blocks are final, so a receipt is a confirmation. Reads do not
 * wait: callers poll for pending transactions.
 */
export const layer = (node: ChainNode): Layer.Layer<PaymentChain> =>
  Layer.succeed(
    PaymentChain,
    PaymentChain.of({
      decode: readTempoTransaction,
      find: Effect.fn("PaymentChain.find")(function* (hash: string) {
        if (!isHex(hash)) return ChainTransaction.Unknown()
        const mined = yield* node.call((client) => receiptOf(client, hash), unknown)
        return mined._tag === "Mined" ? mined : yield* node.call((client) => pendingOf(client, hash), unknown)
      }),
      broadcast: Effect.fn("PaymentChain.broadcast")(function* (raw: string) {
        if (!isHex(raw)) return "refused" as const
        return yield* node.call(
          (client) => sendRawTransaction(client, { serializedTransaction: raw }).then((): BroadcastVerdict => "taken"),
          verdictOn
        )
      })
    })
  )
