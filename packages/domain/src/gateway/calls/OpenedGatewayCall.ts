import type { DateTime, Option } from "effect"
import type { ChatOpening } from "../../ai/calls/ChatRequest.ts"
import type { AnsweringModel } from "../../ai/models/AnsweringModel.ts"
import type { ChunkReader } from "../../ai/streams/ChunkReader.ts"
import type { ModelDelta } from "../../ai/streams/ModelEvent.ts"
import type { PaymentInProgress } from "../GatewayErrors.ts"
import type { PaymentReceipt } from "../payments/PaymentReceipt.ts"
import type { PluginError, PluginResult } from "../plugins/PluginRun.ts"

/** End of a call. A repetition of a paid call has the time of its first answer. */
export interface CallResult extends PluginResult {
  readonly answeredAt: DateTime.Utc
}

/** A call whose first event is available. */
export interface OpenedGatewayCall {
  /** The answering model, if a single model answers. */
  readonly opening: Option.Option<ChatOpening>
  /** The model of a replayed answer. */
  readonly answeredBy?: AnsweringModel | undefined
  readonly events: ChunkReader<ModelDelta | CallResult, PluginError | PaymentInProgress>
  readonly receipt: Option.Option<PaymentReceipt>
  /** Whether the answer is from an earlier request. */
  readonly isReplayed: boolean
}
