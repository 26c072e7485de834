import { Context, type Duration, type Option } from "effect"
import type { MachinePaymentSettings } from "./payments/MachinePaymentSettings.ts"
import type { PluginId } from "./plugins/Plugin.ts"
import type { SpeechModel } from "./speech/SpeechModel.ts"

export interface SpeechSettings {
  /** The models for callers that name none. */
  readonly tts: SpeechModel
  readonly stt: SpeechModel
  /** Bounds one attempt. Providers answer in one piece, for a long recording after minutes. */
  readonly attemptTimeout: Duration.Duration
  /** No further attempt begins after this. */
  readonly retryTimeout: Duration.Duration
}

/** Prices, payments and speech, as the operator sets them. */
export class GatewaySettings extends Context.Tag("@berth/GatewaySettings")<
  GatewaySettings,
  {
    /** Flat prices in US dollars a call; of generate-text, for every started `tokensPerPrice` tokens. */
    readonly prices: Readonly<Record<PluginId, number>>
    /** Factor on the cost of a call at its provider. */
    readonly priceMargin: number
    /** Absent: calls are paid by card only. */
    readonly payments: Option.Option<MachinePaymentSettings["Type"]>
    readonly speech: SpeechSettings
  }
>() {}
