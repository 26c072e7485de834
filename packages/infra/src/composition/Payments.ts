import { PaymentSettings } from "@berth/domain/gateway/payments/PaymentSettings"
import { Effect, Layer, type Redacted } from "effect"
import { makeNode } from "../chain/ChainNode.ts"
import type { Settings } from "../configuration/Settings.ts"
import { type Tempo, tempoOf } from "../configuration/Tempo.ts"
import { CannotRun } from "../process/RunProgram.ts"
import * as PaymentDigests from "../tempo/PaymentDigests.ts"
import * as ViemPaymentChain from "../tempo/ViemPaymentChain.ts"
import { paymentRecipientOf, paymentSecretOf } from "./Keys.ts"

export interface PaymentsOptions extends Tempo, Omit<PaymentSettings["Type"], "realm"> {
  readonly appUrl: URL
  readonly secret: Redacted.Redacted
}

/** What payments by machines are checked with: the chain, the settings, the hash functions. */
export const layer = ({ appUrl, chainId, currency, recipient, rpcUrl, secret }: PaymentsOptions) =>
  Layer.mergeAll(
    Layer.unwrapEffect(Effect.map(makeNode({ name: "tempo", chainId, url: rpcUrl }), ViemPaymentChain.layer)),
    Layer.succeed(PaymentSettings, { realm: appUrl.host, chainId, currency, recipient }),
    PaymentDigests.layer({ secret })
  )

/** The same for a process with these settings. */
export const fromSettings = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const tempo = yield* Effect.mapError(tempoOf(settings), () => new CannotRun({ reason: "MPP_RPC_URL is missing" }))
      const [recipient, secret] = yield* Effect.all([paymentRecipientOf(settings), paymentSecretOf(settings)])
      const { currency } = settings.mpp
      return layer({ ...tempo, appUrl: settings.addresses.appUrl, currency, recipient, secret })
    })
  )
