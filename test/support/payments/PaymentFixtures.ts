import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import type { Challenge } from "@berth/domain/gateway/payments/Challenge"
import { makeAttributionMemo } from "@berth/domain/gateway/payments/AttributionMemo"
import { MachinePayments, type RedemptionResult } from "@berth/domain/gateway/payments/MachinePayments"
import type { PaidAnswer } from "@berth/domain/gateway/payments/PaidAnswer"
import type { PaidRequest } from "@berth/domain/gateway/payments/PaidRequest"
import { PaymentChain } from "@berth/domain/gateway/payments/PaymentChain"
import { makePaymentDigests } from "@berth/domain/gateway/payments/PaymentDigests"
import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import { PaymentSettlement } from "@berth/domain/gateway/payments/PaymentSettlement"
import type { GatewaySettings } from "@berth/domain/gateway/GatewaySettings"
import { MachinePaymentSettings } from "@berth/domain/gateway/payments/MachinePaymentSettings"
import { digests } from "@berth/infra/crypto/NodeDigests"
import { Context, DateTime, Duration, Effect, Encoding, Layer, Option, Redacted } from "effect"
import * as TestSecrets from "../TestSecrets.ts"
import type { PaymentNetwork } from "@berth/infra/tempo/PaymentChainTest"

export const paymentRecipient = WalletAddress.make(`0x${"ab".repeat(20)}`)
const testPaymentSecret = Redacted.make("a secret for tests")
const testPaymentDigests = makePaymentDigests(digests, testPaymentSecret)

const testPluginPrices = { agent: 0.05, "generate-text": 0.01, tts: 0.03, stt: 0.02 }

interface PaymentSettingsOptions {
  readonly network: Pick<PaymentNetwork, "chainId" | "token">
  readonly realm: string
  readonly secret?: Redacted.Redacted
}

const makePaymentSettings = ({
  network,
  realm,
  secret = testPaymentSecret
}: PaymentSettingsOptions): MachinePaymentSettings["Type"] => ({
  realm,
  chainId: network.chainId,
  currency: WalletAddress.make(network.token),
  recipient: paymentRecipient,
  secret
})

export const makeGatewaySettings = (payments: PaymentSettingsOptions): GatewaySettings["Type"] => ({
  prices: testPluginPrices,
  priceMargin: 1.3,
  payments: Option.some(makePaymentSettings(payments)),
  speech: {
    tts: { provider: "openai", name: "tts-1" },
    stt: { provider: "openai", name: "whisper-1" },
    attemptTimeout: Duration.seconds(30),
    retryTimeout: Duration.seconds(30)
  }
})

/** A call in the form that the gateway passes on. */
export const paidRequest: PaidRequest = {
  route: "POST /api/v1/gateway",
  plugin: "generate-text",
  amount: 10_000n,
  description: "One call of generate-text",
  body: new TextEncoder().encode('{"messages":[]}')
}

export const paidAnswer: PaidAnswer = {
  opening: Option.none(),
  message: "Good day.",
  ownKey: false,
  tokens: 10,
  costUsd: 0.0001,
  answeredAt: DateTime.unsafeMake("2026-03-01T12:00:00Z")
}

interface MachinePaymentsOptions {
  readonly network: Pick<PaymentNetwork, "chain" | "chainId" | "token">
  readonly redemptions: PaymentRedemptions["Type"]
  readonly realm?: string
  readonly secret?: Redacted.Redacted
}

/** The use case of one process over shared stores. */
export const makeMachinePayments = ({
  network,
  realm = "berth.example",
  redemptions,
  secret = testPaymentSecret
}: MachinePaymentsOptions) =>
  Effect.map(
    Layer.build(
      MachinePayments.Default.pipe(
        Layer.provide(PaymentSettlement.Default),
        Layer.provide([
          Layer.succeed(PaymentChain, network.chain),
          Layer.succeed(PaymentRedemptions, redemptions),
          Layer.succeed(MachinePaymentSettings, makePaymentSettings({ network, realm, secret })),
          TestSecrets.layer
        ])
      )
    ),
    (context) => Context.get(context, MachinePayments)
  )

/** A credential in the interface's format. */
export const interfaceCredential = ({ id }: { readonly id: string }, transaction: string): ReadonlyArray<string> => [
  `Payment ${JSON.stringify({ scheme: "Payment", transaction, challengeNonce: id })}`
]

type UnverifiedChallenge = Omit<Challenge, "id"> & { readonly id: string }
type Echo = Record<string, string | undefined>

/** A credential in the draft's format, with `changes` to the repeated challenge. */
export const draftCredential = (
  challenge: UnverifiedChallenge,
  proof: string,
  changes: Echo = {}
): ReadonlyArray<string> => {
  const { digest, expires, id, intent, method, opaque, realm, request } = challenge
  const echo: Echo = { id, realm, method, intent, request, expires, digest, opaque, ...changes }
  const payload = proof.length === 66 ? { type: "hash", hash: proof } : { type: "transaction", signature: proof }
  return [`Payment ${Encoding.encodeBase64Url(JSON.stringify({ challenge: echo, payload }))}`]
}

/** The transfer that pays a challenge; bound to it by its memo or not. */
export const makePayingTransfer = (challenge: Challenge, memo: "bound" | "none" = "none") => ({
  to: paymentRecipient.toLowerCase(),
  amount: challenge.amount,
  ...(memo === "bound" ? { memo: makeAttributionMemo(testPaymentDigests, challenge) } : {})
})

/** The memo of a transfer for an unknown challenge. */
export const foreignMemo = makeAttributionMemo(testPaymentDigests, { id: "another", realm: "berth.example" })

/** The outcome of a redemption: paid, in progress, or the reason of its rejection. */
export const redemptionLabel = (redeemed: RedemptionResult): string =>
  redeemed._tag === "Unpaid" ? redeemed.failure : redeemed._tag
