import { Either } from "effect"
import { type MemoBinding, classifyMemo } from "./AttributionMemo.ts"
import type { Challenge } from "./Challenge.ts"
import type { ChainTransaction, SignedTransaction, TokenTransfer } from "./PaymentChain.ts"
import type { PaymentDigests } from "./PaymentDigests.ts"
import type { PaymentFailure } from "./PaymentFailure.ts"

const sameAddress = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()

/** Returns the failure of the transfer closest to an exact payment of the challenge; undefined for an exact one. */
const shortcoming = (
  transfers: ReadonlyArray<TokenTransfer>,
  { amount, currency, recipient }: Challenge
): PaymentFailure | undefined => {
  const inToken = transfers.filter(({ token }) => sameAddress(token, currency))
  const toUs = transfers.filter(({ to }) => sameAddress(to, recipient))
  const right = inToken.filter(({ to }) => sameAddress(to, recipient))
  if (right.some((transfer) => transfer.amount === amount)) return undefined
  if (right.some((transfer) => transfer.amount > amount)) return "overpaid"
  if (right.length > 0) return "underpaid"
  if (toUs.length > 0) return "other token"
  return inToken.length > 0 ? "other recipient" : "no transfer"
}

/** Returns the memo binding of the transfers with the exact price; bound to the challenge if any of them is. */
export const determineMemoBinding = (
  digests: PaymentDigests,
  challenge: Challenge,
  transfers: ReadonlyArray<TokenTransfer>
): Either.Either<MemoBinding, PaymentFailure> => {
  const lacking = shortcoming(transfers, challenge)
  if (lacking !== undefined) return Either.left(lacking)
  const bindings = transfers
    .filter((transfer) => shortcoming([transfer], challenge) === undefined)
    .map(({ memo }) => classifyMemo(digests, memo, challenge))
  if (bindings.includes("this challenge")) return Either.right("this challenge")
  return bindings.includes("none") ? Either.right("none") : Either.left("memo of another challenge")
}

/** Verifies that a signed transaction pays the challenge exactly, on this chain, and is valid now. */
export const verifySignedTransaction = (
  digests: PaymentDigests,
  challenge: Challenge,
  expected: { readonly chainId: number; readonly now: number },
  signed: SignedTransaction
): Either.Either<MemoBinding, PaymentFailure> => {
  if (signed.chainId !== expected.chainId) return Either.left("other chain")
  if (signed.needsFeePayer) return Either.left("needs a fee payer")
  if ((signed.validAfter ?? 0) > expected.now || (signed.validBefore ?? Infinity) <= expected.now)
    return Either.left("not valid now")
  return determineMemoBinding(digests, challenge, signed.transfers)
}

/** Verifies that a mined transaction paid the challenge. */
export const verifyMinedTransaction = (
  digests: PaymentDigests,
  challenge: Challenge,
  transaction: ChainTransaction
): Either.Either<MemoBinding, PaymentFailure> => {
  if (transaction._tag !== "Mined") return Either.left("unconfirmed")
  return transaction.succeeded
    ? determineMemoBinding(digests, challenge, transaction.transfers)
    : Either.left("transaction has failed")
}
