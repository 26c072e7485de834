import { WalletAddress } from "@berth/domain/chain/WalletAddress"
import type { Challenge } from "@berth/domain/gateway/payments/Challenge"
import { memoFor } from "@berth/domain/gateway/payments/AttributionMemo"
import { MachinePayments, type Redeemed } from "@berth/domain/gateway/payments/MachinePayments"
import type { PaidRequest } from "@berth/domain/gateway/payments/PaidRequest"
import { PaymentChain } from "@berth/domain/gateway/payments/PaymentChain"
import { PaymentDigests } from "@berth/domain/gateway/payments/PaymentDigests"
import { PaymentRedemptions } from "@berth/domain/gateway/payments/PaymentRedemptions"
import { PaymentSettings } from "@berth/domain/gateway/payments/PaymentSettings"
import * as LivePaymentDigests from "@berth/infra/tempo/PaymentDigests"
import { Context, Effect, Encoding, Layer, Redacted } from "effect"
import * as TestSecrets from "../TestSecrets.ts"
import type { PaymentNetwork } from "./PaymentNetwork.ts"

export const recipient = WalletAddress.make(`0x${"ab".repeat(20)}`)
export const digests = LivePaymentDigests.make(Redacted.make("a secret for tests"))

/** A call as the gateway hands it on. */
export const call: PaidRequest = {
  route: "POST /api/v1/gateway",
  plugin: "generate-text",
  amount: 10_000n,
  description: "One call of generate-text",
  body: new TextEncoder().encode('{"messages":[]}')
}

export interface PaymentsOf {
  readonly network: Pick<PaymentNetwork, "chain" | "chainId" | "token">
  readonly redemptions: PaymentRedemptions["Type"]
  readonly realm?: string
  readonly digests?: PaymentDigests["Type"]
}

/** The use case of one process over what processes share. */
export const machinePayments = ({
  digests: given = digests,
  network,
  realm = "berth.example",
  redemptions
}: PaymentsOf) =>
  Effect.map(
    Layer.build(
      MachinePayments.Default.pipe(
        Layer.provide([
          Layer.succeed(PaymentChain, network.chain),
          Layer.succeed(PaymentDigests, given),
          Layer.succeed(PaymentRedemptions, redemptions),
          Layer.succeed(PaymentSettings, {
            realm,
            chainId: network.chainId,
            currency: WalletAddress.make(network.token),
            recipient
          }),
          TestSecrets.layer
        ])
      )
    ),
    (context) => Context.get(context, MachinePayments)
  )

/** The interface's own credential. */
export const plain = ({ id }: { readonly id: string }, transaction: string): ReadonlyArray<string> => [
  `Payment ${JSON.stringify({ scheme: "Payment", transaction, challengeNonce: id })}`
]

export type Alleged = Omit<Challenge, "id"> & { readonly id: string }
type Echo = Record<string, string | undefined>

/** The draft's, with what is changed of the challenge that it repeats. */
export const draft = (challenge: Alleged, proof: string, changes: Echo = {}): ReadonlyArray<string> => {
  const { digest, expires, id, intent, method, opaque, realm, request } = challenge
  const echo: Echo = { id, realm, method, intent, request, expires, digest, opaque, ...changes }
  const payload = proof.length === 66 ? { type: "hash", hash: proof } : { type: "transaction", signature: proof }
  return [`Payment ${Encoding.encodeBase64Url(JSON.stringify({ challenge: echo, payload }))}`]
}

/** The transfer that pays a challenge; by `memo` bound to it or not. */
export const payingTransfer = (challenge: Challenge, memo: "bound" | "none" = "none") => ({
  to: recipient.toLowerCase(),
  amount: challenge.amount,
  ...(memo === "bound" ? { memo: memoFor(digests, challenge) } : {})
})

/** The memo of a transfer for a challenge that is nobody's here. */
export const memoOfAnother = memoFor(digests, { id: "another", realm: "berth.example" })

/** In a word how a redemption went: paid, in progress, or why not. */
export const inAWord = (redeemed: Redeemed): string => (redeemed._tag === "Unpaid" ? redeemed.failure : redeemed._tag)
