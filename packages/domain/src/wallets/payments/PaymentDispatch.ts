import { DateTime, Duration, Effect, Option } from "effect"
import { countPayment } from "../../billing/PaymentMetrics.ts"
import { Transaction } from "../../persistence/Transaction.ts"
import type { UserWallet } from "../UserWallet.ts"
import { UserWalletRepository } from "../UserWalletRepository.ts"
import { WalletChain } from "../WalletChain.ts"
import type { PaymentOffer } from "./PaidResources.ts"
import type { SignedPayment, WalletPayment } from "./WalletPayment.ts"
import { WalletPaymentRepository } from "./WalletPaymentRepository.ts"
import { WalletSigner } from "./WalletSigner.ts"

/** Gas limit of a USDC transfer. */
export const transferGas = 100_000n

/** Recovery skips payments that another process has updated within this time. */
const recoveryAge = Duration.seconds(20)
const recoveryBatch = 50

const keyUnavailable = "the key of the wallet cannot be opened"

const maximumAuthorization = Duration.minutes(10)

/**
 * Signs and sends reserved payments. The signed payment is stored before it is sent, and repeated until the chain has
 * decided, so a lost response or a killed process never causes a second payment.
 */
export class PaymentDispatch extends Effect.Service<PaymentDispatch>()("@berth/PaymentDispatch", {
  effect: Effect.gen(function* () {
    const chain = yield* WalletChain
    const repository = yield* WalletPaymentRepository
    const signer = yield* WalletSigner
    const transaction = yield* Transaction
    const wallets = yield* UserWalletRepository

    const requireWallet = ({ userId }: WalletPayment) => Effect.flatMap(wallets.find(userId, "user"), Effect.orDie)

    const finish = Effect.fnUntraced(function* (
      payment: WalletPayment,
      status: "confirmed" | "failed",
      reason?: string
    ) {
      const changed = yield* repository.changeStatus(payment, status, reason)
      if (changed) {
        countPayment("wallet", status === "confirmed" ? "paid" : "refused")
        yield* Effect.logInfo("Wallet payment finished").pipe(
          Effect.annotateLogs({ paymentId: payment.id, status, ...(reason === undefined ? {} : { reason }) })
        )
      }
      return changed ? { ...payment, status, reason: reason ?? null } : payment
    })

    const store = Effect.fnUntraced(function* (payment: WalletPayment, signature: SignedPayment) {
      if (!(yield* repository.markSent(payment.id, signature))) return payment
      return { ...payment, status: "sent" as const, signature }
    })

    /**
     * Reads the nonces of the node and of stored payments under one lock, so that payments of a wallet have different
     * nonces.
     */
    const signTransfer = Effect.fnUntraced(function* (payment: WalletPayment, wallet: UserWallet) {
      const key = yield* wallets.openKey(wallet)
      const { nonce, ...fees } = yield* chain.readFeesAndNonce(wallet.address)
      if ((yield* chain.readBalance(wallet.address)) < fees.maxFeePerGas * transferGas)
        return yield* finish(payment, "failed", "the wallet has too little ETH for the network fee")
      return yield* transaction.run(
        Effect.gen(function* () {
          yield* repository.lockWallet(payment.userId)
          const last = yield* repository.findLastNonce(payment.userId)
          const { amount, payee } = payment
          const next = last === null ? nonce : Math.max(nonce, last + 1)
          return yield* store(payment, yield* signer.signTransfer(key, { payee, amount, ...fees, nonce: next }))
        })
      )
    })

    /** Stores the header of a paid request; the caller then sends it. */
    const authorize = Effect.fn("PaymentDispatch.authorize")(function* (payment: WalletPayment, offer: PaymentOffer) {
      const opened = yield* Effect.option(wallets.openKey(yield* requireWallet(payment)))
      if (Option.isNone(opened)) return yield* finish(payment, "failed", keyUnavailable)
      const seconds = Math.min(offer.maximumSeconds, Duration.toSeconds(maximumAuthorization))
      const now = yield* DateTime.now
      const signed = yield* signer.signAuthorization(opened.value, {
        payee: payment.payee,
        amount: payment.amount,
        validBefore: Math.floor(now.epochMillis / 1000) + seconds
      })
      return yield* store(payment, {
        signed: offer.encode(signed),
        reference: signed.nonce,
        nonce: null,
        validBefore: signed.validBefore
      })
    })

    const settleTransfer = Effect.fnUntraced(function* (payment: WalletPayment, { reference, signed }: SignedPayment) {
      yield* chain.broadcast(signed)
      const status = yield* chain.findTransactionStatus(reference)
      if (status === "succeeded") return yield* finish(payment, "confirmed")
      return status === "reverted" ? yield* finish(payment, "failed", "the transfer was reverted") : payment
    })

    const settleAuthorization = Effect.fnUntraced(function* (
      payment: WalletPayment,
      { reference, validBefore }: SignedPayment
    ) {
      const { address } = yield* requireWallet(payment)
      const status = yield* chain.findAuthorization(address, reference, validBefore ?? 0)
      if (status === "used") return yield* finish(payment, "confirmed")
      return status === "expired"
        ? yield* finish(payment, "failed", "the service did not take the payment in time")
        : payment
    })

    /** Advances a payment as far as the chain allows. Idempotent; no effect while the chain is unreachable. */
    const advance = Effect.fn("PaymentDispatch.advance")(
      function* (payment: WalletPayment) {
        const { kind } = payment
        // A paid request without its header was never sent; only the agent can repeat it.
        if (payment.status === "reserved" && kind === "x402") return yield* finish(payment, "failed", "interrupted")
        if (payment.status === "reserved" && payment.agentId === null)
          return yield* finish(payment, "failed", "the agent was deleted")
        const sent =
          payment.status === "reserved" ? yield* signTransfer(payment, yield* requireWallet(payment)) : payment
        if (sent.status !== "sent" || sent.signature === null) return sent
        return yield* kind === "x402" ? settleAuthorization(sent, sent.signature) : settleTransfer(sent, sent.signature)
      },
      (advanced, payment) =>
        advanced.pipe(
          Effect.catchTags({
            ChainUnreachable: () => Effect.succeed(payment),
            WalletKeyUnavailable: () => finish(payment, "failed", keyUnavailable)
          }),
          Effect.annotateLogs({ paymentId: payment.id })
        )
    )

    /** Fails a reserved payment, which was never sent. */
    const cancel = Effect.fn("PaymentDispatch.cancel")((payment: WalletPayment, reason: string) =>
      finish(payment, "failed", reason)
    )

    /** Advances unfinished payments that no process is working on. */
    const recover = Effect.gen(function* () {
      const before = DateTime.subtractDuration(yield* DateTime.now, recoveryAge)
      const unfinished = yield* repository.listUnfinished(before, recoveryBatch)
      yield* Effect.forEach(
        unfinished,
        (payment) =>
          Effect.zipRight(repository.touch(payment.id), advance(payment)).pipe(
            Effect.catchAllCause((cause) => Effect.logError("Wallet payment not recovered", cause))
          ),
        {
          discard: true
        }
      )
      return unfinished.length
    }).pipe(Effect.withSpan("PaymentDispatch.recover"))

    return { authorize, advance, cancel, recover }
  })
}) {}
