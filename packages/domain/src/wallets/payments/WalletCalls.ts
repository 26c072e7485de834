import { Effect, Option } from "effect"
import { normalizeWalletAddress, parseWalletAddress } from "../../chain/WalletAddress.ts"
import { Memories } from "../../interaction/memory/Memories.ts"
import { RateLimiter } from "../../limits/RateLimiter.ts"
import { Digests } from "../../secrets/Digests.ts"
import type { UserId } from "../../shared/UserId.ts"
import { UserWallets } from "../UserWallets.ts"
import { WalletChain } from "../WalletChain.ts"
import { formatEther, walletNetwork } from "../WalletNetwork.ts"
import { PaidResources, type ResourceRequest } from "./PaidResources.ts"
import { PaymentDispatch } from "./PaymentDispatch.ts"
import { formatUsdc, parseUsdc } from "./UsdcAmount.ts"
import { WalletCallFailed } from "./WalletPaymentErrors.ts"
import { maximumPendingPayments, type WalletPayment, type WantedPayment } from "./WalletPayment.ts"
import { type PayingTurn, WalletPayments } from "./WalletPayments.ts"

const failed = (reason: string) => new WalletCallFailed({ reason })
const limitNames = { perCall: "per payment", perDay: "per day", perAgent: "of this agent" }

/** Calls of an agent's wallet skill; results are texts for the model. Only turns of the owner can use the wallet. */
export class WalletCalls extends Effect.Service<WalletCalls>()("@berth/WalletCalls", {
  effect: Effect.gen(function* () {
    const chain = yield* WalletChain
    const digests = yield* Digests
    const dispatch = yield* PaymentDispatch
    const limiter = yield* RateLimiter
    const memories = yield* Memories
    const payments = yield* WalletPayments
    const resources = yield* PaidResources
    const wallets = yield* UserWallets

    const fingerprint = (...parts: ReadonlyArray<string>) => digests.sha256(JSON.stringify(parts), "hex")

    const requireOwnerTurn = (turn: PayingTurn) =>
      Effect.zipRight(limiter.take("runtime-wallet", turn.userId), memories.requireOwnerTurn(turn))

    const requireWallet = (userId: UserId) =>
      Effect.mapError(wallets.require(userId), () =>
        failed("The owner has no wallet. The owner creates one with POST /api/wallet.")
      )

    const getBalance = Effect.fn("WalletCalls.getBalance")(function* (turn: PayingTurn) {
      yield* requireOwnerTurn(turn)
      const { address } = yield* requireWallet(turn.userId)
      const [wei, usdc] = yield* Effect.all([chain.readBalance(address), chain.readUsdcBalance(address)], {
        concurrency: 2
      }).pipe(Effect.mapError(() => failed("The chain cannot be reached.")))
      return `Wallet ${address} on ${walletNetwork.name}: ${formatUsdc(usdc)} USDC, ${formatEther(wei)} ETH.`
    })

    /** Reserves a payment within the owner's limits. */
    const request = Effect.fnUntraced(function* (turn: PayingTurn, requested: WantedPayment) {
      const { address } = yield* requireWallet(turn.userId)
      const payment = yield* Effect.mapError(payments.request(turn, requested), (refused) =>
        failed(
          refused._tag === "PendingPaymentLimitReached"
            ? `${maximumPendingPayments} payments wait for the owner already. The owner approves or refuses them with POST /api/agents/:id/wallet-payments.`
            : `The payment of ${formatUsdc(requested.amount)} USDC exceeds the limit ${limitNames[refused.limit]}. Only the owner can change limits, with PUT /api/agents/:id/wallet-limits.`
        )
      )
      if (payment.status !== "reserved") return payment
      return yield* chain.readUsdcBalance(address).pipe(
        Effect.flatMap((balance) =>
          balance < payment.amount
            ? dispatch.cancel(payment, "the wallet has too little USDC")
            : Effect.succeed(payment)
        ),
        Effect.catchTag("ChainUnreachable", () => dispatch.cancel(payment, "the chain cannot be reached"))
      )
    })

    /** Describes a payment that cannot continue now. */
    const describeWait = ({ amount, id, reason, status }: WalletPayment) =>
      status === "pending"
        ? `The payment ${id} of ${formatUsdc(amount)} USDC waits for the owner's approval (POST /api/agents/:id/wallet-payments).`
        : `The payment ${id} was not made: ${reason ?? status}.`

    const sendUsdc = Effect.fn("WalletCalls.sendUsdc")(function* (
      turn: PayingTurn,
      transferRequest: { readonly to: string; readonly amount: string }
    ) {
      yield* requireOwnerTurn(turn)
      const payee = yield* Effect.mapError(parseWalletAddress(transferRequest.to), () =>
        failed("`to` must be an address: 0x and 40 hex digits.")
      )
      const amount = yield* Effect.mapError(parseUsdc(transferRequest.amount), () =>
        failed("`amount` must be USDC as a decimal with at most six decimals, above zero.")
      )
      const name = fingerprint("send_usdc", normalizeWalletAddress(payee), String(amount))
      const transfer = { kind: "send_usdc", amount, payee, resource: null, fingerprint: name } as const
      const payment = yield* Effect.flatMap(request(turn, transfer), dispatch.advance)
      const { signature, status } = payment
      if (status === "confirmed" || status === "sent")
        return `${formatUsdc(amount)} USDC ${status === "sent" ? "are on the way" : "were sent"} to ${payee}: payment ${payment.id}, transaction ${signature?.reference ?? ""}.`
      return status === "reserved"
        ? `The chain cannot be reached. The payment ${payment.id} stays reserved and is sent as soon as it can.`
        : describeWait(payment)
    })

    const readUrl = (text: string) => {
      const url = URL.canParse(text) ? Option.some(new URL(text)) : Option.none()
      return Option.filter(url, ({ protocol, username }) => /^https?:$/.test(protocol) && username === "")
    }

    /** Requests a resource, and pays for it if the service requires it and the limits allow it. */
    const fetchPaid = Effect.fn("WalletCalls.fetchPaid")(function* (
      turn: PayingTurn,
      resourceRequest: {
        readonly url: string
        readonly method: ResourceRequest["method"]
        readonly body: string | null
      }
    ) {
      yield* requireOwnerTurn(turn)
      const url = yield* Effect.mapError(readUrl(resourceRequest.url), () =>
        failed("`url` must be an http or https URL.")
      )
      const call = { ...resourceRequest, url }
      const first = yield* Effect.mapError(resources.request(call), ({ reason }) => failed(reason))
      if (first._tag === "Content") return `Status ${first.status}, nothing was paid.\n\n${first.text}`
      const { offer } = first
      if (offer === null)
        return yield* failed(`The service asks for a payment that this wallet cannot make.\n\n${first.text}`)
      const { amount, payee } = offer
      const payment = yield* request(turn, {
        kind: "x402",
        amount,
        payee,
        resource: url.href,
        fingerprint: fingerprint(
          "x402",
          resourceRequest.method,
          url.href,
          resourceRequest.body ?? "",
          payee,
          String(amount)
        )
      })
      const signed = payment.status === "reserved" ? yield* dispatch.authorize(payment, offer) : payment
      if (signed.signature === null || (signed.status !== "sent" && signed.status !== "confirmed"))
        return describeWait(signed)
      const second = yield* Effect.mapError(resources.request(call, signed.signature.signed), ({ reason }) =>
        failed(`${reason} The payment ${signed.id} was authorized; repeating the call does not pay again.`)
      )
      const { status } = yield* dispatch.advance(signed)
      return second._tag === "Content"
        ? `Status ${second.status}, paid ${formatUsdc(amount)} USDC to ${payee}: payment ${signed.id}, ${status}.\n\n${second.text}`
        : yield* failed(`The service did not accept the payment ${signed.id}.\n\n${second.text}`)
    })

    return { getBalance, sendUsdc, fetchPaid }
  })
}) {}
