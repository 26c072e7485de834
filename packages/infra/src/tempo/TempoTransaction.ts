import {
  type SignedTransaction,
  TransactionUnreadable,
  type TokenTransfer
} from "@berth/domain/gateway/payments/PaymentChain"
import { Effect } from "effect"
import { decodeFunctionData, type Hex, isHex, keccak256 } from "viem"
import { Abis, Transaction } from "viem/tempo"

/** Returns the transfer of a call, if it is a token transfer by the signer. */
const transferOf = ({ data, to }: { readonly data?: Hex | undefined; readonly to?: string | null | undefined }) => {
  if (data === undefined || to === undefined || to === null) return undefined
  try {
    const call = decodeFunctionData({ abi: Abis.tip20, data })
    if (call.functionName !== "transfer" && call.functionName !== "transferWithMemo") return undefined
    const [recipient, amount, memo] = call.args
    return { token: to.toLowerCase(), to: recipient.toLowerCase(), amount, memo: memo?.toLowerCase() }
  } catch {
    // The token's interface excludes calls of other functions.
    return undefined
  }
}

const transfersOf = (calls: ReadonlyArray<Parameters<typeof transferOf>[0]>): ReadonlyArray<TokenTransfer> =>
  calls.flatMap((call) => transferOf(call) ?? [])

/** Whether the transaction is a Tempo transaction; besides these, only EIP-1559 transactions are accepted. */
const isTempo = (raw: Hex): raw is `0x76${string}` => raw.startsWith("0x76")
/** Whether the envelope is for a fee payer. */
const isForFeePayer = (raw: Hex): raw is `0x78${string}` => raw.startsWith("0x78")
const isFeeMarket = (raw: Hex): raw is `0x02${string}` => raw.startsWith("0x02")

const readTempo = async (raw: `0x76${string}` | `0x78${string}`): Promise<SignedTransaction | undefined> => {
  const transaction = Transaction.deserialize(raw)
  if (transaction.signature === undefined) return undefined
  // Nodes canonicalize the signature before they hash the transaction, so the canonical form is broadcast.
  const canonical = await Transaction.serialize(transaction)
  return {
    hash: keccak256(canonical),
    raw: canonical,
    chainId: transaction.chainId,
    transfers: transfersOf(transaction.calls),
    validAfter: transaction.validAfter,
    validBefore: transaction.validBefore,
    needsFeePayer: isForFeePayer(raw) || transaction.feePayerSignature === null
  }
}

const readFeeMarket = (raw: `0x02${string}`): SignedTransaction | undefined => {
  const transaction = Transaction.deserialize(raw)
  if (transaction.type !== "eip1559" || transaction.r === undefined || transaction.chainId === undefined)
    return undefined
  return {
    hash: keccak256(raw),
    raw,
    chainId: transaction.chainId,
    transfers: transfersOf([transaction]),
    validAfter: undefined,
    validBefore: undefined,
    needsFeePayer: false
  }
}

/** Decodes a signed transaction. The chain verifies the signature. */
export const readTempoTransaction = (raw: string): Effect.Effect<SignedTransaction, TransactionUnreadable> =>
  Effect.tryPromise({
    try: async () => {
      if (!isHex(raw)) return undefined
      if (isTempo(raw) || isForFeePayer(raw)) return await readTempo(raw)
      return isFeeMarket(raw) ? readFeeMarket(raw) : undefined
    },
    catch: () => new TransactionUnreadable()
  }).pipe(Effect.flatMap((read) => (read === undefined ? new TransactionUnreadable() : Effect.succeed(read))))
