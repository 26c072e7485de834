import { WebhookDispatch } from "@berth/domain/webhooks/WebhookDispatch"
import { Effect, Layer } from "effect"
import { runDeliveryLoop } from "../jobs/DeliveryLoop.ts"

/** Delivers outbound events. */
export const layer = Layer.scopedDiscard(
  Effect.flatMap(WebhookDispatch, (dispatch) => runDeliveryLoop({ ...dispatch, slots: 32 }))
)
