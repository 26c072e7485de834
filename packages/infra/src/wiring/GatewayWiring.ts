import { GatewaySettings } from "@berth/domain/gateway/GatewaySettings"
import { Duration, Effect, Layer, Option } from "effect"
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

/** In production a recipient must be configured. */
const takesPayments = ({ environment, mpp }: Settings) => environment === "development" || Option.isSome(mpp.recipient)

const resolvePayments = (settings: Settings) =>
  !takesPayments(settings)
    ? Effect.succeedNone
    : Effect.map(
        Effect.all({
          network: requireTempoNetwork(settings),
          recipient: resolvePaymentRecipient(settings),
          secret: resolvePaymentSecret(settings)
        }),
        ({ network, recipient, secret }) =>
          Option.some({
            realm: settings.addresses.appUrl.host,
            chainId: network.chainId,
            currency: settings.mpp.currency,
            recipient,
            secret
          })
      )

/** Settings for the web API and for speech in the backend. */
export const settingsFromSettings = (settings: Settings) =>
  Layer.effect(
    GatewaySettings,
    Effect.gen(function* () {
      return {
        prices: settings.prices,
        priceMargin: settings.priceMargin,
        payments: yield* resolvePayments(settings),
        speech: { ...settings.speech, attemptTimeout: speechAttemptTimeout, retryTimeout: speechRetryTimeout }
      }
    })
  )

/** Chain of machine payments. */
export const fromSettings = (settings: Settings) =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const { chainId, rpcUrl } = yield* requireTempoNetwork(settings)
      if (!takesPayments(settings)) yield* Effect.logInfo("Machine payments are off; set MPP_RECIPIENT to take them")
      return ViemPaymentChain.layer(yield* makeRpcNode({ name: "tempo", chainId, url: rpcUrl }))
    })
  )
