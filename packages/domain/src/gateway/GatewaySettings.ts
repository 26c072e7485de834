import { Context, type Duration, type Option } from "effect"
import type { MachinePaymentSettings } from "./payments/MachinePaymentSettings.ts"
import type { PluginId } from "./plugins/Plugin.ts"
import type { SpeechModel } from "./speech/SpeechModel.ts"

export interface SpeechSettings {
  /** Default models of callers. */
  readonly tts: SpeechModel
  readonly stt: SpeechModel
  /** Timeout of one attempt. Providers return the complete answer at once, for a long recording after minutes. */
  readonly attemptTimeout: Duration.Duration
  /** No attempt begins after this time. */
  readonly retryTimeout: Duration.Duration
}

/** Prices, payments and speech, configured by the operator. */
export class GatewaySettings extends Context.Tag("@berth/GatewaySettings")<
  GatewaySettings,
  {
    /** Flat prices in US dollars per call; for generate-text, per started `tokensPerPrice` tokens. */
    readonly prices: Readonly<Record<PluginId, number>>
    /** Factor on the cost of a call at its provider. */
    readonly priceMargin: number
    /** Absent: calls accept card payment only. */
    readonly payments: Option.Option<MachinePaymentSettings["Type"]>
    readonly speech: SpeechSettings
  }
>() {}
