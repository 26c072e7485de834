import { PaymentSettings } from "@berth/domain/gateway/payments/PaymentSettings"
import { Effect, Layer } from "effect"
import { makeRpcNode } from "../chain/ChainNode.ts"
import type { Settings } from "../configuration/Settings.ts"
import { type TempoNetwork, resolveTempoNetwork } from "../configuration/TempoNetwork.ts"
import { ProgramMisconfigured } from "../process/ProgramRunner.ts"
import * as ViemPaymentChain from "../tempo/ViemPaymentChain.ts"
import { resolvePaymentRecipient, resolvePaymentSecret } from "./SecretsWiring.ts"

export interface GatewayWiringOptions extends TempoNetwork, Omit<PaymentSettings["Type"], "realm"> {
  readonly appUrl: URL
}

/** What payments by machines are checked with: the chain, the settings, the hash functions. */
export const layer = ({ appUrl, chainId, currency, recipient, rpcUrl, secret }: GatewayWiringOptions) =>
  Layer.mergeAll(
    Layer.unwrapEffect(Effect.map(makeRpcNode({ name: "tempo", chainId, url: rpcUrl }), ViemPaymentChain.layer)),
    Layer.succeed(PaymentSettings, { realm: appUrl.host, chainId, currency, recipient, secret })
  )

/** The same for a process with these settings. */
export const fromSettings = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const tempo = yield* Effect.mapError(
        resolveTempoNetwork(settings),
        () => new ProgramMisconfigured({ reason: "MPP_RPC_URL is missing" })
      )
      const [recipient, secret] = yield* Effect.all([resolvePaymentRecipient(settings), resolvePaymentSecret(settings)])
      const { currency } = settings.mpp
      return layer({ ...tempo, appUrl: settings.addresses.appUrl, currency, recipient, secret })
    })
  )
