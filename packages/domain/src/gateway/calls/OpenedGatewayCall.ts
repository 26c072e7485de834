import type { Option, Stream } from "effect"
import type { ChatOpening } from "../../ai/calls/ChatRequest.ts"
import type { PaymentInProgress } from "../GatewayErrors.ts"
import type { PaymentReceipt } from "../payments/PaymentReceipt.ts"
import type { CallEvent, PluginError } from "../plugins/PluginRun.ts"

/** A call whose first event is available. */
export interface OpenedGatewayCall {
  /** The model that answers, where one model does. */
  readonly opening: Option.Option<ChatOpening>
  readonly events: Stream.Stream<CallEvent, PluginError | PaymentInProgress>
  /** The machine payment, where one was made. */
  readonly receipt: Option.Option<PaymentReceipt>
  /** Whether the answer is that of an earlier request. */
  readonly isReplayed: boolean
}
