import { GatewaySettings } from "@berth/domain/gateway/GatewaySettings"
import { Duration, Effect, Layer } from "effect"
import { makeRpcNode } from "../chain/ChainNode.ts"
import type { Settings } from "../configuration/Settings.ts"
import { resolveTempoNetwork } from "../configuration/TempoNetwork.ts"
import { ProgramMisconfigured } from "../process/ProgramRunner.ts"
import * as ViemPaymentChain from "../tempo/ViemPaymentChain.ts"
import { resolvePaymentRecipient, resolvePaymentSecret } from "./SecretsWiring.ts"

const speechAttemptTimeout = Duration.minutes(2)
const speechRetryTimeout = Duration.minutes(1)

const requireTempoNetwork = (settings: Settings) =>
  Effect.mapError(resolveTempoNetwork(settings), () => new ProgramMisconfigured({ reason: "MPP_RPC_URL is missing" }))

/** The settings, which the web API and the local speech of the backend read. */
export const settingsFromSettings = (settings: Settings) =>
  Layer.effect(
    GatewaySettings,
    Effect.gen(function* () {
      const { chainId } = yield* requireTempoNetwork(settings)
      return {
        prices: settings.prices,
        priceMargin: settings.priceMargin,
        payments: {
          realm: settings.addresses.appUrl.host,
          chainId,
          currency: settings.mpp.currency,
          recipient: yield* resolvePaymentRecipient(settings),
          secret: yield* resolvePaymentSecret(settings)
        },
        speech: { ...settings.speech, attemptTimeout: speechAttemptTimeout, retryTimeout: speechRetryTimeout }
      }
    })
  )

/** The chain of machine payments. */
export const fromSettings = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const { chainId, rpcUrl } = yield* requireTempoNetwork(settings)
      return ViemPaymentChain.layer(yield* makeRpcNode({ name: "tempo", chainId, url: rpcUrl }))
    })
  )
